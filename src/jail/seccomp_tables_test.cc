// What a box may ask of the kernel: every row of the block list, and the arguments that decide.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "jail/seccomp.h"

namespace casemate::jail {
namespace {

using Arguments = std::array<std::uint64_t, 6>;

// A bit that the kernel does not look at in an argument of 32 bits.
constexpr std::uint64_t kHigh = std::uint64_t{1} << 32;

// 0 for allowed, the errno for refused, -1 for anything else.
int errno_for(long number, const Arguments& arguments = {}) {
  const std::uint32_t answer =
      evaluate(box_program(), AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), arguments);
  if (answer == SECCOMP_RET_ALLOW) return 0;
  if ((answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
    return static_cast<int>(answer & SECCOMP_RET_DATA);
  return -1;
}

// Arguments of which only the one at `index` is not zero.
Arguments argument(std::size_t index, std::uint64_t value) {
  Arguments arguments{};
  arguments.at(index) = value;
  return arguments;
}

// The block list of the isolation design, row by row. Numbers that Debian 12's headers lack are given.
struct Refused {
  const char* name;
  long number;
  int errno_value;
  Arguments arguments{};
};

const Refused kRefused[] = {
    // I/O that a filter does not see
    {"io_uring_setup", SYS_io_uring_setup, ENOSYS},
    {"io_uring_enter", SYS_io_uring_enter, ENOSYS},
    {"io_uring_register", SYS_io_uring_register, ENOSYS},
    // stops the kernel in the middle of a copy
    {"userfaultfd", SYS_userfaultfd, ENOSYS},
    // kernel surface, and looking into siblings
    {"bpf", SYS_bpf, EPERM},
    {"perf_event_open", SYS_perf_event_open, EPERM},
    {"kcmp", SYS_kcmp, EPERM},
    {"process_vm_readv", SYS_process_vm_readv, ENOSYS},
    {"process_vm_writev", SYS_process_vm_writev, EPERM},
    {"ptrace", SYS_ptrace, EPERM},
    {"pidfd_getfd", SYS_pidfd_getfd, EPERM},
    {"process_madvise", SYS_process_madvise, EPERM},
    // keyrings know no pid namespace
    {"keyctl", SYS_keyctl, ENOSYS},
    {"add_key", SYS_add_key, ENOSYS},
    {"request_key", SYS_request_key, ENOSYS},
    // new namespaces
    {"unshare", SYS_unshare, EPERM},
    {"setns", SYS_setns, EPERM},
    {"clone NEWUSER", SYS_clone, EPERM, {CLONE_NEWUSER | 17}},
    {"clone3", SYS_clone3, ENOSYS},
    // what the box sees
    {"mount", SYS_mount, EPERM},
    {"umount2", SYS_umount2, EPERM},
    {"pivot_root", SYS_pivot_root, EPERM},
    {"chroot", SYS_chroot, EPERM},
    {"open_tree", SYS_open_tree, EPERM},
    {"move_mount", SYS_move_mount, EPERM},
    {"fsopen", SYS_fsopen, EPERM},
    {"fsconfig", SYS_fsconfig, EPERM},
    {"fsmount", SYS_fsmount, EPERM},
    {"fspick", SYS_fspick, EPERM},
    {"mount_setattr", SYS_mount_setattr, EPERM},
    {"statmount", 457, ENOSYS},
    {"listmount", 458, ENOSYS},
    {"open_tree_attr", 467, ENOSYS},
    // files by guessed handle
    {"name_to_handle_at", SYS_name_to_handle_at, EPERM},
    {"open_by_handle_at", SYS_open_by_handle_at, EPERM},
    // legacy x86
    {"modify_ldt", SYS_modify_ldt, ENOSYS},
    {"iopl", SYS_iopl, ENOSYS},
    {"ioperm", SYS_ioperm, ENOSYS},
    {"set_thread_area", SYS_set_thread_area, ENOSYS},
    {"arch_prctl CET", SYS_arch_prctl, ENOSYS, {0x5001}},
    {"arch_prctl XCOMP", SYS_arch_prctl, ENOSYS, {0x1023}},
    // writes to pages of files that can only be read
    {"vmsplice", SYS_vmsplice, ENOSYS},
    {"splice", SYS_splice, ENOSYS},
    {"tee", SYS_tee, ENOSYS},
    {"sendfile", SYS_sendfile, ENOSYS},
    {"copy_file_range", SYS_copy_file_range, ENOSYS},
    // families with a history, or past the network namespace; the whole matrix is below
    {"socket NETLINK", SYS_socket, EAFNOSUPPORT, {AF_NETLINK, SOCK_RAW}},
    {"socket PACKET", SYS_socket, EAFNOSUPPORT, {AF_PACKET, SOCK_RAW}},
    {"socket VSOCK", SYS_socket, EAFNOSUPPORT, {AF_VSOCK, SOCK_STREAM}},
    {"socket ALG", SYS_socket, EAFNOSUPPORT, {AF_ALG, SOCK_SEQPACKET}},
    {"socket XDP", SYS_socket, EAFNOSUPPORT, {AF_XDP, SOCK_RAW}},
    {"socket RXRPC", SYS_socket, EAFNOSUPPORT, {AF_RXRPC, SOCK_DGRAM}},
    {"socket INET RAW", SYS_socket, EAFNOSUPPORT, {AF_INET, SOCK_RAW, 1}},
    {"socketpair TIPC", SYS_socketpair, EAFNOSUPPORT, {AF_TIPC, SOCK_STREAM}},
    // out-of-band bytes on Unix sockets
    {"sendto OOB", SYS_sendto, EINVAL, {0, 0, 0, MSG_OOB}},
    {"recvfrom OOB", SYS_recvfrom, EINVAL, {0, 0, 0, MSG_OOB}},
    {"sendmsg OOB", SYS_sendmsg, EINVAL, {0, 0, MSG_OOB}},
    {"recvmsg OOB", SYS_recvmsg, EINVAL, {0, 0, MSG_OOB}},
    // terminals, interfaces, flags of files: what an ordinary file says
    {"ioctl TIOCSTI", SYS_ioctl, ENOTTY, {0, 0x5412}},
    {"ioctl TIOCLINUX", SYS_ioctl, ENOTTY, {0, 0x541c}},
    {"ioctl TIOCSETD", SYS_ioctl, ENOTTY, {0, 0x5423}},
    {"ioctl SIOCSIFFLAGS", SYS_ioctl, ENOTTY, {0, 0x8914}},
    {"ioctl FS_IOC_SETFLAGS", SYS_ioctl, ENOTTY, {0, 0x40086602}},
    // address layout and page zero
    {"personality ADDR_NO_RANDOMIZE", SYS_personality, EPERM, {0x0040000}},
    {"personality READ_IMPLIES_EXEC", SYS_personality, EPERM, {0x0400000}},
    {"personality MMAP_PAGE_ZERO", SYS_personality, EPERM, {0x0100000}},
    // answering for others' filters, and what prctl would give back
    {"seccomp NEW_LISTENER", SYS_seccomp, EPERM, {1, SECCOMP_FILTER_FLAG_NEW_LISTENER}},
    {"prctl SET_MM", SYS_prctl, EPERM, {PR_SET_MM}},
    {"prctl SET_PTRACER", SYS_prctl, EPERM, {PR_SET_PTRACER}},
    {"prctl SET_DUMPABLE 1", SYS_prctl, EPERM, {PR_SET_DUMPABLE, 1}},
    // the machine
    {"acct", SYS_acct, EPERM},
    {"swapon", SYS_swapon, EPERM},
    {"swapoff", SYS_swapoff, EPERM},
    {"reboot", SYS_reboot, EPERM},
    {"kexec_load", SYS_kexec_load, EPERM},
    {"kexec_file_load", SYS_kexec_file_load, EPERM},
    {"init_module", SYS_init_module, EPERM},
    {"finit_module", SYS_finit_module, EPERM},
    {"delete_module", SYS_delete_module, EPERM},
    {"syslog", SYS_syslog, EPERM},
    {"quotactl", SYS_quotactl, EPERM},
    {"quotactl_fd", SYS_quotactl_fd, EPERM},
    {"fanotify_init", SYS_fanotify_init, EPERM},
    {"fanotify_mark", SYS_fanotify_mark, EPERM},
    {"settimeofday", SYS_settimeofday, EPERM},
    {"clock_settime", SYS_clock_settime, EPERM},
    {"clock_adjtime", SYS_clock_adjtime, EPERM},
    {"adjtimex", SYS_adjtimex, EPERM},
    {"lookup_dcookie", SYS_lookup_dcookie, EPERM},
    {"nfsservctl", SYS_nfsservctl, EPERM},
    {"vhangup", SYS_vhangup, EPERM},
    {"migrate_pages", SYS_migrate_pages, EPERM},
    {"move_pages", SYS_move_pages, EPERM},
    {"mbind", SYS_mbind, EPERM},
    {"set_mempolicy", SYS_set_mempolicy, EPERM},
    {"memfd_secret", SYS_memfd_secret, ENOSYS},
    {"uselib", SYS_uselib, EPERM},
    {"ustat", SYS_ustat, EPERM},
    {"sysfs", SYS_sysfs, EPERM},
    // nodes and set-id files
    {"mknod CHR", SYS_mknod, EPERM, {0, S_IFCHR | 0666}},
    {"mknodat BLK", SYS_mknodat, EPERM, {0, 0, S_IFBLK | 0666}},
    {"chmod SUID", SYS_chmod, EPERM, {0, 04755}},
    {"fchmodat2 SGID", 452, EPERM, {0, 0, 02755}},
    // what no kernel of today has
    {"the next one", 500, ENOSYS},
};

TEST(Seccomp, RefusesTheBlockListWithItsErrors) {
  for (const Refused& row : kRefused) {
    EXPECT_EQ(errno_for(row.number, row.arguments), row.errno_value) << row.name;
  }
}

TEST(Seccomp, AllowsWhatProgramsNeed) {
  for (const long number : {SYS_read,        SYS_write,
                            SYS_openat,      SYS_close,
                            SYS_mmap,        SYS_munmap,
                            SYS_brk,         SYS_futex,
                            SYS_clone,       SYS_execve,
                            SYS_wait4,       SYS_exit_group,
                            SYS_kill,        SYS_epoll_wait,
                            SYS_getrandom,   SYS_fchmod,
                            SYS_statx,       SYS_rt_sigreturn,
                            SYS_sched_yield, SYS_prlimit64,
                            SYS_rseq,        SYS_landlock_restrict_self}) {
    EXPECT_EQ(errno_for(number), 0) << number;
  }
}

TEST(Seccomp, CloneMakesThreadsAndProcessesAndNoNamespace) {
  constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  EXPECT_EQ(errno_for(SYS_clone, argument(0, kThread)), 0);
  EXPECT_EQ(errno_for(SYS_clone, argument(0, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | 17)), 0);
  constexpr std::uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                        CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    const int expected = (flag & kNamespaces) != 0 ? EPERM : 0;
    EXPECT_EQ(errno_for(SYS_clone, argument(0, flag)), expected) << "bit " << bit;
    EXPECT_EQ(errno_for(SYS_clone, argument(0, flag | kThread)), expected) << "bit " << bit;
    // The kernel drops the upper word, so nothing in it may hide a flag from us.
    EXPECT_EQ(errno_for(SYS_clone, argument(0, flag | 0xffffffff00000000)), expected) << "bit " << bit;
  }
}

int socket_expected(std::uint32_t family, std::uint32_t type, std::uint32_t protocol) {
  const bool unix_socket = family == AF_UNIX && protocol == 0 &&
                           (type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET);
  const bool internet = family == AF_INET || family == AF_INET6;
  const bool tcp = internet && type == SOCK_STREAM && (protocol == 0 || protocol == 6);
  const bool udp = internet && type == SOCK_DGRAM && (protocol == 0 || protocol == 17);
  return unix_socket || tcp || udp ? 0 : EAFNOSUPPORT;
}

TEST(Seccomp, SocketsOfTheBoxsOwnAndNoOthers) {
  for (std::uint32_t family = 0; family <= 50; ++family) {
    for (std::uint32_t type = 0; type <= 15; ++type) {
      for (std::uint32_t protocol = 0; protocol <= 300; ++protocol) {
        const int expected = socket_expected(family, type, protocol);
        for (const std::uint32_t flags : {0U, std::uint32_t{SOCK_CLOEXEC}, std::uint32_t{SOCK_NONBLOCK}}) {
          ASSERT_EQ(errno_for(SYS_socket, {family, type | flags, protocol}), expected)
              << family << ' ' << type << ' ' << protocol;
        }
        // The kernel looks at the lower word of each.
        ASSERT_EQ(errno_for(SYS_socket, {family | kHigh, type | kHigh, protocol | kHigh}), expected)
            << family << ' ' << type << ' ' << protocol;
      }
    }
    EXPECT_EQ(errno_for(SYS_socketpair, {family, SOCK_STREAM}), family == AF_UNIX ? 0 : EAFNOSUPPORT);
  }
}

TEST(Seccomp, IoctlLooksAtTheLowerWordAsTheKernelDoes) {
  const std::set<std::uint32_t> allowed = {0x5401, 0x5402, 0x5403, 0x5404, 0x5409,    0x540b,
                                           0x540f, 0x5410, 0x5413, 0x5414, 0x541b,    0x5421,
                                           0x5429, 0x5450, 0x5451, 0x5452, 0x802c542a};
  for (std::uint32_t request = 0x5400; request <= 0x54ff; ++request) {
    const int expected = allowed.contains(request) ? 0 : ENOTTY;
    EXPECT_EQ(errno_for(SYS_ioctl, argument(1, request)), expected) << std::hex << request;
    for (const std::uint64_t high : {kHigh, std::uint64_t{1} << 63, std::uint64_t{0xffffffff} << 32}) {
      EXPECT_EQ(errno_for(SYS_ioctl, argument(1, request | high)), expected) << std::hex << request;
    }
  }
  EXPECT_EQ(errno_for(SYS_ioctl, argument(1, 0x802c542a)), 0);
  for (std::uint32_t request = 0x8900; request <= 0x89ff; ++request) {  // sockets and interfaces
    EXPECT_EQ(errno_for(SYS_ioctl, argument(1, request)), ENOTTY) << std::hex << request;
  }
  for (std::uint32_t request = 0x1200; request <= 0x12ff; ++request) {  // block devices
    EXPECT_EQ(errno_for(SYS_ioctl, argument(1, request)), ENOTTY) << std::hex << request;
  }
}

TEST(Seccomp, PrctlNamesItsThreadAndGivesNothingBack) {
  const std::set<int> allowed = {PR_SET_PDEATHSIG,
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
                                 PR_GET_KEEPCAPS};
  for (int option = 0; option < 100; ++option) {
    for (std::uint64_t value = 0; value <= 2; ++value) {
      const bool undumpable = option == PR_SET_DUMPABLE && value == 0;
      EXPECT_EQ(errno_for(SYS_prctl, {static_cast<std::uint64_t>(option), value}),
                allowed.contains(option) || undumpable ? 0 : EPERM)
          << option << ' ' << value;
    }
  }
  for (const std::uint64_t option : {std::uint64_t{PR_SET_PTRACER}, std::uint64_t{0x53564d41 /* SET_VMA */},
                                     std::uint64_t{62 /* SCHED_CORE */}}) {
    EXPECT_EQ(errno_for(SYS_prctl, argument(0, option)), EPERM) << option;
  }
}

TEST(Seccomp, PersonalityMayOnlyBeAsked) {
  EXPECT_EQ(errno_for(SYS_personality, argument(0, 0)), 0);
  EXPECT_EQ(errno_for(SYS_personality, argument(0, 0xffffffff)), 0);
  EXPECT_EQ(errno_for(SYS_personality, argument(0, ~std::uint64_t{0})), 0);
  for (unsigned bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(errno_for(SYS_personality, argument(0, std::uint64_t{1} << bit)), EPERM) << bit;
  }
}

TEST(Seccomp, NodesAreFilesPipesAndSocketsWithoutSetId) {
  for (std::uint32_t kind = 0; kind <= 0xf; ++kind) {
    for (const std::uint32_t special : {0U, 04000U, 02000U, 06000U, 01000U}) {
      const std::uint32_t mode = kind << 12 | special | 0644;
      const bool plain =
          (kind << 12) == 0 || (kind << 12) == S_IFREG || (kind << 12) == S_IFIFO || (kind << 12) == S_IFSOCK;
      const int expected = plain && (special & 06000) == 0 ? 0 : EPERM;
      EXPECT_EQ(errno_for(SYS_mknod, argument(1, mode)), expected) << std::oct << mode;
      EXPECT_EQ(errno_for(SYS_mknodat, argument(2, mode)), expected) << std::oct << mode;
      // A mode has sixteen bits in the kernel.
      EXPECT_EQ(errno_for(SYS_mknod, argument(1, mode | 0xffff0000)), expected) << std::oct << mode;
    }
  }
}

TEST(Seccomp, NoModeOfAFileHasASetIdBit) {
  for (std::uint32_t mode = 0; mode <= 07777; ++mode) {
    const int expected = (mode & 06000) == 0 ? 0 : EPERM;
    EXPECT_EQ(errno_for(SYS_chmod, argument(1, mode)), expected) << std::oct << mode;
    EXPECT_EQ(errno_for(SYS_fchmod, argument(1, mode)), expected) << std::oct << mode;
    EXPECT_EQ(errno_for(SYS_fchmodat, argument(2, mode)), expected) << std::oct << mode;
    EXPECT_EQ(errno_for(452 /* fchmodat2 */, argument(2, mode)), expected) << std::oct << mode;
    // Opening makes files too, with O_CREAT and with O_TMPFILE.
    EXPECT_EQ(errno_for(SYS_creat, argument(1, mode)), expected) << std::oct << mode;
    for (const std::uint64_t flags : {std::uint64_t{O_CREAT}, std::uint64_t{O_TMPFILE}}) {
      EXPECT_EQ(errno_for(SYS_open, {0, flags | O_WRONLY, mode}), expected) << std::oct << mode;
      EXPECT_EQ(errno_for(SYS_openat, {0, 0, flags | O_WRONLY, mode}), expected) << std::oct << mode;
    }
    // Elsewhere the third argument is whatever the register held.
    EXPECT_EQ(errno_for(SYS_open, {0, O_RDONLY, mode}), 0) << std::oct << mode;
    EXPECT_EQ(errno_for(SYS_openat, {0, 0, O_RDONLY | O_DIRECTORY, mode}), 0) << std::oct << mode;
  }
  // The mode of openat2 is behind a pointer.
  EXPECT_EQ(errno_for(SYS_openat2), ENOSYS);
}

TEST(Seccomp, NothingIsSentOutOfBand) {
  struct Row {
    long number;
    std::size_t index;
  };
  for (const Row row : {Row{SYS_sendto, 3}, Row{SYS_recvfrom, 3}, Row{SYS_sendmsg, 2}, Row{SYS_recvmsg, 2},
                        Row{SYS_sendmmsg, 3}, Row{SYS_recvmmsg, 3}}) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      const std::uint64_t flag = std::uint64_t{1} << bit;
      const int expected = flag == MSG_OOB ? EINVAL : 0;
      EXPECT_EQ(errno_for(row.number, argument(row.index, flag)), expected) << row.number << " bit " << bit;
      EXPECT_EQ(errno_for(row.number, argument(row.index, flag | kHigh)), expected) << row.number;
    }
  }
}

TEST(Seccomp, FcntlCopiesLocksAndSealsAndWatchesNobody) {
  const std::set<std::uint32_t> allowed = {
      F_DUPFD,      F_GETFD,      F_SETFD,     F_GETFL,     F_SETFL,      F_GETLK,
      F_SETLK,      F_SETLKW,     F_SETOWN,    F_GETOWN,    F_SETSIG,     F_GETSIG,
      F_SETOWN_EX,  F_GETOWN_EX,  F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_DUPFD_CLOEXEC,
      F_SETPIPE_SZ, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS};
  for (std::uint32_t command = 0; command < 2048; ++command) {
    EXPECT_EQ(errno_for(SYS_fcntl, argument(1, command)), allowed.contains(command) ? 0 : EINVAL) << command;
  }
  EXPECT_EQ(errno_for(SYS_fcntl, argument(1, F_SETLEASE)), EINVAL);
  EXPECT_EQ(errno_for(SYS_fcntl, argument(1, F_NOTIFY)), EINVAL);
}

TEST(Seccomp, ArchPrctlKnowsTheSegmentBasesAlone) {
  for (std::uint64_t code = 0x1000; code <= 0x6000; ++code) {
    const bool allowed = (code >= 0x1001 && code <= 0x1004) || code == 0x3001;
    ASSERT_EQ(errno_for(SYS_arch_prctl, argument(0, code)), allowed ? 0 : ENOSYS) << std::hex << code;
  }
}

TEST(Seccomp, FiltersOfAProgramsOwnHaveNoListener) {
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    EXPECT_EQ(errno_for(SYS_seccomp, {1, flag}), flag == SECCOMP_FILTER_FLAG_NEW_LISTENER ? EPERM : 0) << bit;
  }
}

}  // namespace
}  // namespace casemate::jail
