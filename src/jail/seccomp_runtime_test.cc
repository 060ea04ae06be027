#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <set>

#include "jail/seccomp.h"

namespace casemate::jail {
namespace {

using Arguments = std::array<std::uint64_t, 6>;

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t refused(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }
std::uint32_t of_box(long number, const Arguments& arguments) {
  return evaluate(box_program(), AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), arguments);
}
std::uint32_t of_runtime(long number, const Arguments& arguments) {
  return evaluate(runtime_program(), AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), arguments);
}

TEST(Seccomp, ARuntimeMayMoreThanABoxInTheseCallsAlone) {
  const std::set<long> more = {SYS_ptrace,     SYS_mount,   SYS_umount2, SYS_chroot,
                               SYS_pivot_root, SYS_unshare, SYS_clone,   SYS_prctl};
  const std::set<long> less = {SYS_setsockopt, SYS_getsockopt};
  for (long number = 0; number < 1024; ++number) {
    if (more.contains(number) || less.contains(number)) continue;
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{CLONE_NEWUSER}, ~std::uint64_t{0}}) {
      for (std::size_t at = 0; at < 6; ++at) {
        Arguments arguments{};
        arguments.at(at) = value;
        EXPECT_EQ(of_runtime(number, arguments), of_box(number, arguments)) << number;
      }
    }
  }
}

TEST(Seccomp, AMachineMayLessThanABox) {
  std::size_t allowed = 0;
  for (long number = 0; number < 1024; ++number) {
    bool ever = false;
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2},
                                      std::uint64_t{CLONE_NEWUSER}, ~std::uint64_t{0}}) {
      for (std::size_t at = 0; at < 6; ++at) {
        Arguments arguments{};
        arguments.at(at) = value;
        const std::uint32_t answer =
            evaluate(machine_program(), AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), arguments);
        if (answer == refused(ENOSYS)) continue;
        EXPECT_EQ(answer, of_box(number, arguments)) << number;
        ever |= answer == kAllow;
      }
    }
    allowed += ever ? 1 : 0;
  }
  EXPECT_LE(allowed, 130U);
  for (const long number :
       {SYS_socket, SYS_connect, SYS_bind, SYS_ioctl, SYS_shmget, SYS_mq_open, SYS_inotify_init1, SYS_setuid,
        SYS_ptrace, SYS_mount, SYS_unshare, SYS_bpf, SYS_io_uring_setup}) {
    EXPECT_EQ(evaluate(machine_program(), AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), {}),
              refused(ENOSYS))
        << number;
  }
}

struct More {
  const char* name;
  long number;
  Arguments arguments;
};
const std::vector<More> kMore = {
    {"ptrace", SYS_ptrace, {}},
    {"mount", SYS_mount, {}},
    {"umount2", SYS_umount2, {}},
    {"chroot", SYS_chroot, {}},
    {"pivot_root", SYS_pivot_root, {}},
    {"unshare NEWUSER", SYS_unshare, {CLONE_NEWUSER | CLONE_NEWNS}},
    {"clone with namespaces", SYS_clone, {CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | 17}},
    {"clone NEWUSER", SYS_clone, {CLONE_NEWUSER | 17}},
    {"prctl CAPBSET_DROP", SYS_prctl, {PR_CAPBSET_DROP}},
    {"prctl SET_PTRACER", SYS_prctl, {PR_SET_PTRACER}},
};

TEST(Seccomp, WhatARuntimeMayMoreABoxIsRefused) {
  for (const More& more : kMore) {
    EXPECT_EQ(of_runtime(more.number, more.arguments), kAllow) << more.name;
    EXPECT_EQ(of_box(more.number, more.arguments), refused(EPERM)) << more.name;
  }
}

TEST(Seccomp, ARuntimeIsRefusedWhatItHasNoNeedOf) {
  EXPECT_EQ(of_runtime(SYS_unshare, {CLONE_NEWCGROUP}), refused(EPERM));
  EXPECT_EQ(of_runtime(SYS_unshare, {CLONE_NEWTIME}), refused(EPERM));
  EXPECT_EQ(of_runtime(SYS_clone, {CLONE_NEWCGROUP | 17}), refused(EPERM));
  EXPECT_EQ(of_runtime(SYS_seccomp, {1, SECCOMP_FILTER_FLAG_NEW_LISTENER}), refused(EPERM));
  EXPECT_EQ(of_runtime(SYS_prctl, {PR_SET_MM}), refused(EPERM));
  EXPECT_EQ(of_runtime(SYS_setns, {}), refused(EPERM));
}

TEST(Seccomp, ARuntimeIsRefusedNetfilterByEitherWay) {
  struct Level {
    std::uint64_t level;
    std::set<std::uint64_t> names;
  };
  const std::vector<Level> levels = {{0, {64, 65, 66, 67, 96, 97, 98, 99, 128, 129, 130, 131}},
                                     {41, {64, 65, 68, 69}}};
  for (const long number : {SYS_setsockopt, SYS_getsockopt}) {
    for (const Level& level : levels) {
      for (std::uint64_t name = 0; name < 256; ++name) {
        EXPECT_EQ(of_runtime(number, {3, level.level, name}),
                  level.names.contains(name) ? refused(ENOPROTOOPT) : kAllow)
            << number << " " << level.level << " " << name;
      }
    }
  }
  EXPECT_EQ(of_runtime(SYS_setsockopt, {3, SOL_SOCKET, SO_ATTACH_FILTER}), refused(ENOPROTOOPT));
}

}  // namespace
}  // namespace casemate::jail
