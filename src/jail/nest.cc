// Theory of operation: the nest's init.
//
// The warden clones this process into new user, mount, pid, network, IPC and host-name namespaces. It
// is PID 1 of the box. It moves into its control groups, so that nothing it does is uncharged; waits until
// the warden has written its id maps; builds the tree that the guest will see; pivots into it and lets go of
// the host's; hands the layer's directory out; forks the guest; and then drops every privilege that it had in
// its namespace, installs a filter that knows wait, report and exit, and reaps. When the program ends it says
// how and exits, and the kernel kills what is left of the tree: the end of a run is the end of its pid
// namespace. When the link to the warden closes (the warden was killed) it exits at once, with the same
// effect.
//
// In this cold form the nest serves one box. A nest with a zygote has the same first half; its init
// forks the zygote where this one forks the guest.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "jail/child.h"
#include "jail/nest_server.h"
#include "jail/nest_steps.h"
#include "jail/nest_tree.h"
#include "jail/step.h"

namespace casemate::jail {
namespace {

// The mistake of CVE-2024-21626, made in every test build: what kCloseFds has to close.
void leave_host_open() {
  if (const int host = ::open("/", O_RDONLY | O_DIRECTORY); host >= 0) (void)::fcntl(host, F_DUPFD, 200);
}

// From the clone to the nest's root in namespaces and groups of its own.
// What the nest's user namespace may hold of a kind, all below it included. 0 or the errno.
int limit_namespaces(const char* kind, const char* count) {
  char path[64];
  (void)std::snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", kind);
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int failed = errno_of(::write(file, count, 1));
  (void)::close(file);
  return failed;
}

void enter_nest(const Plan& plan, const SourceTrees& trees, Sources& sources) {
  // Before anything else, and by itself.
  step(plan, Stage::kAttach, [&] { return attach_self(plan); });
  step_if(plan, Wall::kCloseFds, Stage::kCloseInherited, [&] { return close_inherited(plan); });
  if (kTestBuild) leave_host_open();
  wait_for_warden(plan, Stage::kMapped);
  // After the move, so that the box's own group is what /proc/self/cgroup calls "/".
  step_if(plan, Wall::kCgroupNs, Stage::kNewCgroupNs, [] { return errno_of(::unshare(CLONE_NEWCGROUP)); });
  // stops: mounts made here from showing outside, and the reverse
  step(plan, Stage::kPrivateMounts,
       [] { return errno_of(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr)); });
  step(plan, Stage::kOpenSources, [&] { return open_sources(trees, sources); });
  step(plan, Stage::kBecomeNestRoot, [&] {
    // In single-id mode setgroups is denied and there is only one id to be.
    if (!plan.single_id && ::setgroups(0, nullptr) < 0) return errno;
    if (::setresgid(0, 0, 0) < 0) return errno;
    if (::setresuid(0, 0, 0) < 0) return errno;
    (void)::umask(022);
    return 0;
  });
  // stops: user namespaces below the guest's own, the door to most kernel surface. Counted per user
  // and level, so 1 leaves room for the leaf alone, and 3 for that of which a runtime becomes root and that
  // of its kernel. user_namespaces(7), /proc/sys/user.
  step_if(plan, Wall::kUserNsLimit, Stage::kLimitUserNs, [&] {
    if (plan.rung != frame::Rung::kGvisor) return limit_namespaces("user", "1");
    // stops: a runtime that was broken into from holding any number of the others, which the jail's table
    // refuses; network namespaces cost memory that older kernels charge to nobody
    for (const char* kind : {"mnt", "pid", "net", "ipc", "uts"}) {
      if (const int failed = limit_namespaces(kind, "8"); failed != 0) return failed;
    }
    return limit_namespaces("user", "3");
  });
}

}  // namespace

void run_nest_init(const Plan& plan, const SourceTrees& trees) {
  Sources sources;
  enter_nest(plan, trees, sources);
  if (plan.role == Role::kNest) serve_slots(plan, sources);
  build_tree(plan, sources);
  finish_tree(plan);
  const int signals = block_child_signals(plan);
  const pid_t main_pid = ::fork();
  if (main_pid < 0) setup_failed(plan, Stage::kFork, errno);
  if (main_pid == 0) {
    unblock_child_signals(signals);
    become_guest(plan);
  }
  drop_init(plan);
  reap(plan, main_pid, signals);
}

}  // namespace casemate::jail
