// What the processes of ours in a nest may ask: see seccomp.h. Anything else kills.
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>

#include "jail/seccomp_build.h"

namespace casemate::jail {
namespace {

constexpr Table make_init_table() {
  Table table;
  table.unlisted = SECCOMP_RET_KILL_PROCESS;
  for (const long number : {SYS_read, SYS_poll, SYS_wait4, SYS_sendmsg, SYS_exit, SYS_exit_group,
                            SYS_rt_sigreturn, SYS_restart_syscall}) {
    table.rules.push_back(Rule{number_of(number), 0, {}});
  }
  table.rules.push_back(one_of(SYS_kill, 1, {0}, EPERM));  // only the question whether anybody is left
  return table;
}

// The init of a nest, once its zygote runs, and the inits of slots until they drop: clone, mount, report.
constexpr Table make_nest_table() {
  Table table;
  table.unlisted = SECCOMP_RET_KILL_PROCESS;
  for (const long number : {SYS_read,
                            SYS_write,
                            SYS_open,
                            SYS_openat,
                            SYS_close,
                            SYS_close_range,
                            SYS_fcntl,
                            SYS_dup2,
                            SYS_poll,
                            SYS_recvfrom,
                            SYS_recvmsg,
                            SYS_sendmsg,
                            SYS_wait4,
                            SYS_kill,
                            SYS_clone3,
                            SYS_exit,
                            SYS_exit_group,
                            SYS_rt_sigprocmask,
                            SYS_rt_sigreturn,
                            SYS_restart_syscall,
                            SYS_signalfd4,
                            SYS_unshare,
                            SYS_mount,
                            SYS_umount2,
                            SYS_pivot_root,
                            SYS_open_tree,
                            SYS_move_mount,
                            SYS_chdir,
                            SYS_mkdir,
                            SYS_chmod,
                            SYS_chown,
                            SYS_fchown,
                            SYS_symlink,
                            SYS_access,
                            SYS_fstat,
                            SYS_newfstatat,
                            SYS_sethostname,
                            SYS_socket,
                            SYS_ioctl,
                            SYS_sched_getaffinity,
                            SYS_sched_setaffinity,
                            SYS_prctl,
                            SYS_capset,
                            SYS_seccomp})
    table.rules.push_back(Rule{number_of(number), 0, {}});
  return table;
}

constexpr auto kInitProgram = frozen<make_init_table>();
constexpr auto kNestProgram = frozen<make_nest_table>();

}  // namespace

Table init_table() { return make_init_table(); }
std::span<const sock_filter> init_program() { return kInitProgram; }
std::span<const sock_filter> nest_program() { return kNestProgram; }

}  // namespace casemate::jail
