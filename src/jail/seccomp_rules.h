// The rules of seccomp_tables.cc that look at arguments. Each says which attack it stops.
#pragma once

#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "jail/seccomp_build.h"

namespace casemate::jail {

constexpr std::uint32_t kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Sockets: the box's own addresses (lo, no route) and its own Unix sockets; nothing that reaches
// past the network namespace (vsock does) or into protocol code with a history.
constexpr Rule socket_rule() {
  constexpr std::uint32_t kTypeMask = 0xf;  // above it are SOCK_CLOEXEC and SOCK_NONBLOCK
  Rule rule{number_of(SYS_socket), EAFNOSUPPORT, {}};
  for (const std::uint32_t type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    rule.allow.push_back(all_of({{0, 0xffffffff, AF_UNIX}, {1, kTypeMask, type}, {2, 0xffffffff, 0}}));
  }
  for (const std::uint32_t family : {std::uint32_t{AF_INET}, std::uint32_t{AF_INET6}}) {
    for (const std::uint32_t protocol : {0U, 6U /* TCP */}) {
      rule.allow.push_back(
          all_of({{0, 0xffffffff, family}, {1, kTypeMask, SOCK_STREAM}, {2, 0xffffffff, protocol}}));
    }
    for (const std::uint32_t protocol : {0U, 17U /* UDP */}) {
      rule.allow.push_back(
          all_of({{0, 0xffffffff, family}, {1, kTypeMask, SOCK_DGRAM}, {2, 0xffffffff, protocol}}));
    }
  }
  return rule;
}

constexpr Rule socketpair_rule() {
  Rule rule{number_of(SYS_socketpair), EAFNOSUPPORT, {}};
  rule.allow.push_back(all_of({{0, 0xffffffff, AF_UNIX}}));
  return rule;
}

// Terminals and descriptors by what programs use; ENOTTY for the rest is what an ordinary file says.
// Left out on purpose: TIOCSTI and TIOCLINUX (typing into a terminal), TIOCSETD (line disciplines),
// SIOC* (interfaces), FS_IOC_* (file system flags), BLK*, everything else.
constexpr Rule ioctl_rule() {
  return one_of(
      SYS_ioctl, 1,
      {0x5401 /* TCGETS */, 0x5402, 0x5403, 0x5404 /* TCSETS, W, F */, 0x5409 /* TCSBRK */,
       0x540b /* TCFLSH */, 0x540f /* TIOCGPGRP */, 0x5410 /* TIOCSPGRP */, 0x5413 /* TIOCGWINSZ */,
       0x5414 /* TIOCSWINSZ */, 0x541b /* FIONREAD */, 0x5421 /* FIONBIO */, 0x5429 /* TIOCGSID */,
       0x5450 /* FIONCLEX */, 0x5451 /* FIOCLEX */, 0x5452 /* FIOASYNC */, 0x802c542a /* TCGETS2 */},
      ENOTTY);
}

// Names, death signals, its own seccomp. Not: PR_SET_MM, PR_SET_PTRACER, PR_SET_DUMPABLE to 1,
// capabilities, securebits, core scheduling.
constexpr Rule prctl_rule() {
  Rule rule = one_of(SYS_prctl, 0,
                     {PR_SET_PDEATHSIG,
                      PR_GET_PDEATHSIG,
                      PR_GET_DUMPABLE,
                      PR_SET_NAME,
                      PR_GET_NAME,
                      PR_GET_SECCOMP,
                      PR_SET_SECCOMP,
                      PR_CAPBSET_READ,
                      PR_GET_SECUREBITS,
                      PR_SET_TIMERSLACK,
                      PR_GET_TIMERSLACK,
                      PR_SET_CHILD_SUBREAPER,
                      PR_GET_CHILD_SUBREAPER,
                      PR_SET_NO_NEW_PRIVS,
                      PR_GET_NO_NEW_PRIVS,
                      PR_GET_TID_ADDRESS,
                      PR_SET_THP_DISABLE,
                      PR_GET_THP_DISABLE,
                      PR_GET_SPECULATION_CTRL,
                      PR_GET_KEEPCAPS},
                     EPERM);
  rule.allow.push_back(all_of({{0, 0xffffffff, PR_SET_DUMPABLE}, {1, 0xffffffff, 0}}));
  return rule;
}

// Neither devices nor set-id files.
constexpr Rule mknod_rule(long number, std::uint8_t mode_index) {
  Rule rule{number_of(number), EPERM, {}};
  for (const std::uint32_t kind :
       {0U, std::uint32_t{S_IFREG}, std::uint32_t{S_IFIFO}, std::uint32_t{S_IFSOCK}}) {
    rule.allow.push_back(all_of({{mode_index, S_IFMT | S_ISUID | S_ISGID, kind}}));
  }
  return rule;
}

// Opening never makes a set-id file. Without O_CREAT or O_TMPFILE the mode is not looked at by the
// kernel either, and may be anything.
constexpr Rule open_rule(long number, std::uint8_t flags_index) {
  constexpr std::uint32_t kMakes = 0100 /* O_CREAT */ | 020000000 /* __O_TMPFILE */;
  const auto mode_index = static_cast<std::uint8_t>(flags_index + 1);
  return Rule{number_of(number),
              EPERM,
              {all_of({{mode_index, S_ISUID | S_ISGID, 0}}), all_of({{flags_index, kMakes, 0}})}};
}

// All socket options but these. Programs that a guest attaches to sockets are compiled into memory that
// no control group counts and of which the host has a fixed amount, which a new box's own filter needs
// too. A protocol on top of TCP, ESP inside UDP and sending without a copy are entrances to kernel code
// that has written to pages of files that could only be read (CVE-2026-43284, CVE-2026-46300).
struct SocketOption {
  std::uint32_t level, name;
};
constexpr void refuse(Rule& rule, std::initializer_list<SocketOption> options) {
  for (const SocketOption& option : options)
    rule.refuse.push_back(all_of({{1, 0xffffffff, option.level}, {2, 0xffffffff, option.name}}));
}
constexpr Rule setsockopt_rule() {
  Rule rule{number_of(SYS_setsockopt), 0, {}, {}, ENOPROTOOPT};
  refuse(rule, {{SOL_SOCKET, 26 /* SO_ATTACH_FILTER */},
                {SOL_SOCKET, 50 /* SO_ATTACH_BPF */},
                {SOL_SOCKET, 51 /* SO_ATTACH_REUSEPORT_CBPF */},
                {SOL_SOCKET, 52 /* SO_ATTACH_REUSEPORT_EBPF */},
                {SOL_SOCKET, 60 /* SO_ZEROCOPY */},
                {6 /* SOL_TCP */, 31 /* TCP_ULP */},
                {17 /* SOL_UDP */, 100 /* UDP_ENCAP */}});
  return rule;
}

// Leases and directory notes would watch or stall others' opens of a shared file.
constexpr Rule fcntl_rule() {
  using Range = std::pair<std::uint32_t, std::uint32_t>;  // from 1030: F_DUPFD_CLOEXEC, pipe sizes, seals
  Rule rule{number_of(SYS_fcntl), EINVAL, {}};
  for (const auto& [first, last] : {Range{0, 11}, Range{15, 16}, Range{36, 38}, Range{1030, 1034}}) {
    for (std::uint32_t command = first; command <= last; ++command)
      rule.allow.push_back(all_of({{1, 0xffffffff, command}}));
  }
  return rule;
}

// Of a runtime, which has all rights over a network of its own: netfilter's tables are entrances to kernel
// code with a long history, by which user namespaces have been escaped from. `number` sets or gets an option.
constexpr Rule without_netfilter(long number) {
  Rule rule = setsockopt_rule();
  rule.number = number_of(number);
  for (const std::uint32_t first : {64U /* of IP */, 96U /* of ARP */, 128U /* of bridges */}) {
    for (std::uint32_t name = first; name < first + 4; ++name) refuse(rule, {{0 /* SOL_IP */, name}});
  }
  refuse(rule, {{41 /* SOL_IPV6 */, 64}, {41, 65}, {41, 68}, {41, 69}});
  return rule;
}

// Of a runtime: what a box may, and giving its rights up.
constexpr Rule runtime_prctl_rule() {
  Rule rule = prctl_rule();
  for (const int option : {PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_SET_KEEPCAPS, PR_SET_DUMPABLE, PR_SET_PTRACER})
    rule.allow.push_back(all_of({{0, 0xffffffff, static_cast<std::uint32_t>(option)}}));
  return rule;
}

}  // namespace casemate::jail
