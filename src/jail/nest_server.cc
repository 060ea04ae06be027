// Theory of operation: a nest with a zygote.
//
// The init of a nest has its own user, mount, pid, network, IPC and host-name namespaces as that of a box
// has. It is never more than this file: it parses one kind of message, from the warden, clones, reaps and
// reports. For a slot it clones an init into mount, pid, network, IPC and host-name namespaces of the slot's
// own, below the nest's user namespace, and that builds the slot's tree as the init of a box does. The
// warden then asks the zygote to fork a guest into these namespaces (guest/zygote/slot_module.cc).
//
// The kernel makes this process the parent of such a guest when the process that forked it has ended
// (forget_original_parent in kernel/exit.c: the reaper of the dead parent's own pid namespace), and it is
// the parent of every slot's init: so it reaps both and says so, with the pid of this namespace. A slot's
// init reaps what a guest leaves without a parent. A slot outlives its zygote; nothing outlives this process.
#include "jail/nest_server.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "jail/child.h"
#include "jail/nest_steps.h"
#include "jail/seccomp.h"
#include "jail/step.h"

namespace casemate::jail {
namespace {

// Descriptors 0 to 2 on /dev/null, 3 the zygote's link, and nothing else.
int place_zygote_descriptors(const Plan& plan) {
  const int link = ::fcntl(plan.zygote_fd, F_DUPFD, 64);
  if (link < 0) return errno;
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return errno;
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(null, fd) < 0) return errno;
  }
  if (::dup2(link, 3) < 0) return errno;
  // The init's link stays until execve closes it, so that the steps still to come can report.
  if (!wall_on(plan, Wall::kCloseFds)) return 0;
  if (plan.link > 4 && ::syscall(SYS_close_range, 4U, static_cast<unsigned>(plan.link - 1), 0U) < 0)
    return errno;
  return errno_of(::syscall(SYS_close_range, static_cast<unsigned>(plan.link + 1), ~0U, 0U));
}

// The zygote keeps the nest's privilege, which ends at the nest: to enter the namespaces of slots.
[[noreturn]] void become_zygote(const Plan& plan) {
  step_if(plan, Wall::kNewSession, Stage::kNewSession, [] { return errno_of(::setsid()); });
  step(plan, Stage::kPivotRoot, [] {
    if (::chroot("root") < 0) return errno;
    return errno_of(::chdir("/vol/work"));
  });
  step(plan, Stage::kPlaceFds, [&] { return place_zygote_descriptors(plan); });
  // Its slots have what it has: both are theirs, too, and are off where theirs are.
  step_if(plan, Wall::kNoNewPrivs, Stage::kNoNewPrivs,
          [] { return errno_of(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); });
  // stops: a flaw in an interpreter that holds privilege from reaching more than its work needs
  step_if(plan, Wall::kSeccomp, Stage::kSeccomp, [] { return install(zygote_program()); });
  step(plan, Stage::kExec, [&] { return execute(plan); });
  ::_exit(1);
}

void start_zygote(const Plan& plan, int signals) {
  // Takes the number 2 away: a guest is 2 in its own namespace, and code that notices a fork by a change of
  // pid (OpenSSL's random numbers) must notice this one.
  const pid_t nobody = ::fork();
  if (nobody == 0) ::_exit(0);
  if (nobody < 0) setup_failed(plan, Stage::kFork, errno);
  (void)::waitpid(nobody, nullptr, 0);
  const pid_t zygote = ::fork();
  if (zygote < 0) setup_failed(plan, Stage::kFork, errno);
  if (zygote == 0) {
    unblock_child_signals(signals);
    become_zygote(plan);
  }
  (void)::close(plan.zygote_fd);
  LinkMessage message;
  message.kind = LinkMessage::Kind::kZygoteStarted;
  message.pid = zygote;
  send_link(plan.link, message);
}

// The body of a slot's init. Never returns.
[[noreturn]] void run_slot_init(const Plan& plan, int signals) {
  unblock_child_signals(signals);
  step(plan, Stage::kAttach, [&] { return attach_self(plan); });
  step_if(plan, Wall::kCloseFds, Stage::kCloseInherited, [&] { return close_inherited(plan); });
  wait_for_warden(plan, Stage::kMapped);
  step_if(plan, Wall::kCgroupNs, Stage::kNewCgroupNs, [] { return errno_of(::unshare(CLONE_NEWCGROUP)); });
  build_slot_tree(plan);
  // The zygote enters by a pidfd of this process, which asks for the right to look into it. ptrace(2),
  // "Ptrace access mode checking".
  step(plan, Stage::kSendLayer, [] { return errno_of(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); });
  finish_tree(plan);
  const int own_signals = block_child_signals(plan);
  drop_init(plan);
  reap(plan, -1, own_signals);
}

unsigned long slot_flags(const Plan& plan) {
  unsigned long flags = CLONE_NEWNS | CLONE_PIDFD;
  if (wall_on(plan, Wall::kPidNs)) flags |= CLONE_NEWPID;
  if (wall_on(plan, Wall::kNetNs)) flags |= CLONE_NEWNET;
  if (wall_on(plan, Wall::kIpcNs)) flags |= CLONE_NEWIPC;
  if (wall_on(plan, Wall::kUtsNs)) flags |= CLONE_NEWUTS;
  return flags;
}

void make_slot(const Plan& nest, SlotRequest& request, int signals) {
  LinkMessage message;
  message.kind = LinkMessage::Kind::kSlotMade;
  message.token = request.token;
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = slot_flags(request.plan);
  arguments.exit_signal = SIGCHLD;
  arguments.pidfd = static_cast<__u64>(reinterpret_cast<std::uintptr_t>(&pidfd));
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid == 0) run_slot_init(request.plan, signals);
  message.pid = static_cast<std::int32_t>(pid);
  message.errno_value = pid < 0 ? errno : 0;
  send_link(nest.link, message, pidfd);
  if (pidfd >= 0) (void)::close(pidfd);
}

// One request of the warden's. Anything that is not one ends the nest: there is nobody else at that link.
void on_request(const Plan& nest, int signals) {
  static SlotRequest request;
  RequestFds fds;
  switch (receive_request(nest.link, request, fds)) {
    case Received::kNothing: return;
    case Received::kEnd: ::_exit(1);
    case Received::kRequest: break;
  }
  Plan& plan = request.plan;
  const std::size_t devices = plan.devices_fd >= 0 ? 1 : 0;
  if (fds.count != 3 + plan.task_file_count + devices) ::_exit(1);
  plan.link = fds.fds[0];
  plan.stdin_fd = plan.control_fd = -1;
  plan.stdout_fd = fds.fds[1];
  plan.stderr_fd = fds.fds[2];
  for (std::size_t i = 0; i < plan.task_file_count; ++i) plan.task_files[i] = fds.fds[3 + i];
  plan.devices_fd = devices != 0 ? fds.fds[fds.count - 1] : -1;
  make_slot(nest, request, signals);
  for (std::size_t i = 0; i < fds.count; ++i) (void)::close(fds.fds[i]);
}

void reap_all(const Plan& plan) {
  for (;;) {
    int status = 0;
    rusage used{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &used);
    if (pid <= 0) return;
    LinkMessage message;
    message.kind = LinkMessage::Kind::kReaped;
    message.pid = pid;
    message.wait_status = status;
    message.minor_faults = static_cast<std::uint64_t>(used.ru_minflt);
    send_link(plan.link, message);
  }
}

}  // namespace

void serve_slots(const Plan& plan, const Sources& sources) {
  build_nest_tree(plan, sources);
  // Test builds: without a pid namespace of its own it would not be the one that reaps what has lost its
  // parent.
  if (!wall_on(plan, Wall::kPidNs)) (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const int signals = block_child_signals(plan);
  start_zygote(plan, signals);
  step(plan, Stage::kInitSeccomp, [] {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
    return install(nest_program());
  });
  for (;;) {
    pollfd items[2] = {{signals, POLLIN, 0}, {plan.link, POLLIN, 0}};
    if (::poll(items, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (items[0].revents != 0) {
      signalfd_siginfo drained[8];
      (void)::read(signals, drained, sizeof(drained));  // only that it came matters
    }
    reap_all(plan);
    if (items[1].revents != 0) on_request(plan, signals);
  }
}

}  // namespace casemate::jail
