#include "jail/cell.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "jail/box_plan.h"
#include "jail/child.h"

namespace casemate::jail {

Result<sys::Fd> Cell::make_link() {
  sys::Pair pair = TRY(sys::make_seqpacket_pair());
  TRY(sys::set_nonblocking(pair.first));
  link = std::move(pair.first);
  return std::move(pair.second);
}

Result<void> Cell::clone_init(const Plan& plan, const SourceTrees& trees) {
  // A plain clone and no fork(): the namespaces must be made with the process. The child runs on a
  // copy of this single thread and touches nothing of the C library that remembers its pid.
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = namespace_flags(plan) | CLONE_PIDFD;
  arguments.exit_signal = SIGCHLD;
  arguments.pidfd = static_cast<__u64>(reinterpret_cast<std::uintptr_t>(&pidfd));
  // Born in its v2 group, since moving there later waits for a grace period of the kernel.
  if (const int group = groups.unified_fd(); group >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<__u64>(group);
  }
  // The copy must be dumpable until its maps are written, or /proc/PID belongs to root and newuidmap
  // refuses; its change of user id makes it undumpable again.
  (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  const int clone_errno = errno;
  if (pid != 0) (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (pid < 0) return fail_errno("clone into new namespaces", clone_errno);
  if (pid == 0) {
    (void)::close(link.get());
    run_nest_init(plan, trees);
  }
  init = sys::Fd(pidfd);
  init_pid = static_cast<int>(pid);
  user_namespace = TRY(sys::open_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/ns/user", O_RDONLY));
  return {};
}

void Cell::map_ids(const IdRange& ids, Steps& steps) const {
  steps.run(Stage::kWriteMaps, [&] { return write_id_maps(ids, init_pid); });
  steps.run(Stage::kSayMapped, [&] { return sys::send_message(link, "m", {}); });
}

void Cell::kill() const {
  if (init) (void)::syscall(SYS_pidfd_send_signal, init.get(), SIGKILL, nullptr, 0);
}

void Cell::end_groups(frame::BoxGone& gone, Deadline deadline) {
  const BoxGroups::End ended = groups.end(deadline);
  gone.groups_empty = ended.empty ? 1 : 0;
  gone.groups_removed = ended.removed ? 1 : 0;
  link.reset();
  user_namespace.reset();
}

}  // namespace casemate::jail
