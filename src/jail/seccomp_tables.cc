// The tables of seccomp.h. Each refused group says which attack it stops.
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <initializer_list>

#include "jail/seccomp.h"
#include "jail/seccomp_build.h"
#include "jail/seccomp_machine.h"
#include "jail/seccomp_rules.h"

// Calls newer than Debian 12's headers, by number (x86-64).
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

namespace casemate::jail {
namespace {

constexpr std::initializer_list<long> kAllowed = {
    // Files, by path and by descriptor. Landlock, the mounts and the ids decide which.
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_close_range,
    SYS_stat,
    SYS_fstat,
    SYS_lstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readv,
    SYS_writev,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_access,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getdents,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_rename,
    SYS_renameat,
    SYS_renameat2,
    SYS_mkdir,
    SYS_mkdirat,
    SYS_rmdir,
    SYS_link,
    SYS_linkat,
    SYS_unlink,
    SYS_unlinkat,
    SYS_symlink,
    SYS_symlinkat,
    SYS_readlink,
    SYS_readlinkat,
    SYS_chown,
    SYS_fchown,
    SYS_lchown,
    SYS_fchownat,
    SYS_umask,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_readahead,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync_file_range,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_utimensat,
    SYS_statfs,
    SYS_fstatfs,
    SYS_flock,
    SYS_dup,
    SYS_dup2,
    SYS_dup3,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_fgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_flistxattr,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    // Memory. All of it is charged to the box's group.
    SYS_mmap,
    SYS_mprotect,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_msync,
    SYS_mincore,
    SYS_madvise,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_mlockall,
    SYS_munlockall,
    SYS_memfd_create,
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_pkey_mprotect,
    SYS_membarrier,
    // Waiting and events.
    SYS_poll,
    SYS_ppoll,
    SYS_select,
    SYS_pselect6,
    SYS_epoll_create,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_wait,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_eventfd,
    SYS_eventfd2,
    SYS_signalfd,
    SYS_signalfd4,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_pause,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_inotify_init,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_inotify_rm_watch,
    // Pipes, queues, shared memory: in an IPC namespace of the box's own.
    SYS_pipe,
    SYS_pipe2,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_shmdt,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_mq_timedsend,
    SYS_mq_timedreceive,
    SYS_mq_notify,
    SYS_mq_getsetattr,
    // Sockets that exist; making one is decided below.
    SYS_connect,
    SYS_accept,
    SYS_accept4,
    SYS_bind,
    SYS_listen,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    // Processes and signals: in a pid namespace of the box's own.
    SYS_fork,
    SYS_vfork,
    SYS_execve,
    SYS_execveat,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getpgrp,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_futex,
    SYS_futex_waitv,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_setparam,
    SYS_sched_getscheduler,
    SYS_sched_setscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_rr_get_interval,
    SYS_sched_getattr,
    SYS_sched_setattr,
    SYS_getpriority,
    SYS_setpriority,
    SYS_ioprio_get,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_prlimit64,
    SYS_getrusage,
    SYS_times,
    SYS_getcpu,
    // Clocks and timers, reading; and the box's own timers.
    SYS_gettimeofday,
    SYS_time,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_getitimer,
    SYS_setitimer,
    SYS_alarm,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_delete,
    // Identity: one id is mapped, so there is nothing to become.
    SYS_getuid,
    SYS_getgid,
    SYS_geteuid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capget,
    SYS_capset,
    // The rest of what ordinary programs ask.
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_landlock_create_ruleset,
    SYS_landlock_add_rule,
    SYS_landlock_restrict_self,
};

// Calls that get ENOSYS by name and not only by being unknown: programs fall back cleanly.
constexpr std::initializer_list<long> kAbsent = {
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,  // I/O out of this filter's sight
    SYS_io_setup,
    SYS_io_submit,
    SYS_io_destroy,
    SYS_io_getevents,
    SYS_io_cancel,    // the older of the two
    SYS_userfaultfd,  // stops the kernel in the middle of a copy
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,  // keyrings know no pid namespace
    SYS_clone3,       // its flags are behind a pointer; glibc falls back to clone
    SYS_openat2,      // so is its mode; callers fall back to openat
    SYS_modify_ldt,
    SYS_iopl,
    SYS_ioperm,
    SYS_set_thread_area,  // legacy x86
    SYS_vmsplice,
    SYS_splice,
    SYS_tee,  // writes to pages of files that can only be read
    SYS_sendfile,
    SYS_copy_file_range,  // splice by other names; callers fall back
    SYS_memfd_secret,     // memory out of accounting's sight
    SYS_process_vm_readv,
    SYS_remap_file_pages,
};

// Calls that nobody in a box has a business with: EPERM.
constexpr std::initializer_list<long> kForbidden = {
    SYS_ptrace,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,  // reaching into other processes
    SYS_bpf,
    SYS_perf_event_open,  // kernel surface with a long history
    SYS_unshare,
    SYS_setns,  // new namespaces reopen all surfaces
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,  // changing what the box sees
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,  // files by guessed handle
    SYS_acct,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_syslog,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_lookup_dcookie,
    SYS_vhangup,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
    SYS__sysctl,
    SYS_nfsservctl,
    SYS_sync,
    SYS_syncfs,  // the host's; sync stalls neighbours
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_mbind,
    SYS_set_mempolicy,
    SYS_set_mempolicy_home_node,
    SYS_get_mempolicy,
    SYS_ioprio_set,
};

constexpr Table make_box_table() {
  Table table;
  table.unlisted = SECCOMP_RET_ERRNO | ENOSYS;
  for (const long number : kAllowed) table.rules.push_back(Rule{number_of(number), 0, {}});
  for (const long number : kAbsent) table.rules.push_back(Rule{number_of(number), ENOSYS, {}});
  for (const long number : kForbidden) table.rules.push_back(Rule{number_of(number), EPERM, {}});

  table.rules.push_back(without_bits(SYS_clone, 0, kNamespaceFlags, EPERM));
  table.rules.push_back(socket_rule());
  table.rules.push_back(socketpair_rule());
  table.rules.push_back(setsockopt_rule());
  // Out-of-band data on Unix sockets: a use after free of 2025 (CVE-2025-38236).
  table.rules.push_back(without_bits(SYS_sendto, 3, MSG_OOB, EINVAL));
  table.rules.push_back(without_bits(SYS_recvfrom, 3, MSG_OOB, EINVAL));
  table.rules.push_back(without_bits(SYS_sendmsg, 2, MSG_OOB, EINVAL));
  table.rules.push_back(without_bits(SYS_recvmsg, 2, MSG_OOB, EINVAL));
  table.rules.push_back(without_bits(SYS_sendmmsg, 3, MSG_OOB, EINVAL));
  table.rules.push_back(without_bits(SYS_recvmmsg, 3, MSG_OOB, EINVAL));
  table.rules.push_back(ioctl_rule());
  table.rules.push_back(prctl_rule());
  table.rules.push_back(one_of(SYS_arch_prctl, 0,
                               {0x1001, 0x1002, 0x1003, 0x1004 /* FS and GS base */,
                                0x3001 /* ARCH_CET_STATUS, which glibc's loader asks */},
                               ENOSYS));
  // PER_LINUX and the query; every other personality weakens address layout or maps page zero.
  table.rules.push_back(one_of(SYS_personality, 0, {0, 0xffffffff}, EPERM));
  // A filter of its own can only take away; a listener could answer for others.
  table.rules.push_back(without_bits(SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, EPERM));
  table.rules.push_back(open_rule(SYS_open, 1));
  table.rules.push_back(open_rule(SYS_openat, 2));
  table.rules.push_back(without_bits(SYS_creat, 1, S_ISUID | S_ISGID, EPERM));
  table.rules.push_back(mknod_rule(SYS_mknod, 1));
  table.rules.push_back(mknod_rule(SYS_mknodat, 2));
  table.rules.push_back(without_bits(SYS_chmod, 1, S_ISUID | S_ISGID, EPERM));
  table.rules.push_back(without_bits(SYS_fchmod, 1, S_ISUID | S_ISGID, EPERM));
  table.rules.push_back(without_bits(SYS_fchmodat, 2, S_ISUID | S_ISGID, EPERM));
  table.rules.push_back(without_bits(SYS_fchmodat2, 2, S_ISUID | S_ISGID, EPERM));
  table.rules.push_back(fcntl_rule());
  return table;
}

// A zygote is a Python that forks: what a box may, and what it takes to enter a slot's namespaces and to give
// everything up there. The guest's own filter comes on top.
constexpr Table make_zygote_table() {
  return allowing(make_box_table(), {SYS_setns, SYS_unshare, SYS_prctl, SYS_seccomp, SYS_mknod, SYS_mknodat});
}

// A runtime makes user, mount, pid and network namespaces for its parts, in which it mounts, and traces the
// processes that its guest's code runs in. Its parts then put up tables of their own, before that code runs.
constexpr Table make_runtime_table() {
  Table table = allowing(make_box_table(), {SYS_ptrace, SYS_mount, SYS_umount2, SYS_chroot, SYS_pivot_root});
  replace(table, runtime_prctl_rule());
  // stops: the kinds of namespaces that it has no need of
  replace(table, without_bits(SYS_clone, 0, CLONE_NEWCGROUP, EPERM));
  replace(table, without_bits(SYS_unshare, 0, CLONE_NEWCGROUP | CLONE_NEWTIME, EPERM));
  for (const long number : {SYS_setsockopt, SYS_getsockopt}) replace(table, without_netfilter(number));
  return table;
}

constexpr Table make_machine_table() { return only(make_box_table(), kOfMachine); }

constexpr auto kMachineProgram = frozen<make_machine_table>();
constexpr auto kZygoteProgram = frozen<make_zygote_table>();
constexpr auto kRuntimeProgram = frozen<make_runtime_table>();
constexpr auto kBoxProgram = frozen<make_box_table>();

}  // namespace

Table box_table() { return make_box_table(); }
std::span<const sock_filter> box_program() { return kBoxProgram; }
Table runtime_table() { return make_runtime_table(); }
std::span<const sock_filter> runtime_program() { return kRuntimeProgram; }
Table machine_table() { return make_machine_table(); }
std::span<const sock_filter> machine_program() { return kMachineProgram; }
std::span<const sock_filter> zygote_program() { return kZygoteProgram; }

}  // namespace casemate::jail
