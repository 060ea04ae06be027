// See nest_steps.h; the order of a box's making is told in nest.cc.
#include "jail/nest_steps.h"

#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "jail/child.h"
#include "jail/seccomp.h"
#include "jail/step.h"

namespace casemate::jail {
namespace {

int bring_loopback_up() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int failed = errno_of(::ioctl(socket, SIOCSIFFLAGS, &request));
  (void)::close(socket);
  return failed;
}

// A pipe belongs to who made it; /dev/stdout inside could not be opened otherwise. An ordinary user's
// pipes are ours to give because that user is root in this namespace; as root the warden gave them.
void own_pipes(const Plan& plan) {
  step(plan, Stage::kOwnPipes, [&] {
    for (const int fd : {plan.stdout_fd, plan.stderr_fd}) {
      struct stat status {};
      if (::fstat(fd, &status) < 0) return errno;
      if (status.st_uid == plan.slot_id || !S_ISFIFO(status.st_mode)) continue;
      if (::fchown(fd, plan.slot_id, plan.slot_id) < 0) return errno;
    }
    return 0;
  });
}

void hand_out_layer(const Plan& plan) {
  step(plan, Stage::kSendLayer, [&] {
    const int layer = ::open("/vol", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (layer < 0) return errno;
    LinkMessage message;
    message.kind = LinkMessage::Kind::kLayer;
    send_link(plan.link, message, layer);
    (void)::close(layer);
    return 0;
  });
}

// The mistake of waiting for the whole tree, which a test build can make.
void linger([[maybe_unused]] const Plan& plan) {
#ifdef CASEMATE_TEST_HOOKS
  if (wall_on(plan, Wall::kKillTree)) return;
  while (::wait4(-1, nullptr, 0, nullptr) > 0 || errno == EINTR) {
  }
#endif
}

}  // namespace

void send_link(int link, const LinkMessage& message, int fd) {
  iovec part{const_cast<LinkMessage*>(&message), sizeof(message)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &fd, sizeof(int));
  }
  // A warden that is gone cannot be told; the closed link is noticed where it matters.
  while (::sendmsg(link, &header, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

Received receive_request(int link, SlotRequest& request, RequestFds& fds) {
  iovec part{&request, sizeof(request)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds.fds))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t got = ::recvmsg(link, &header, MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EINTR || errno == EAGAIN ? Received::kNothing : Received::kEnd;
  fds.count = 0;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    fds.count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(fds.fds.data(), CMSG_DATA(item), fds.count * sizeof(int));
  }
  const bool whole = static_cast<std::size_t>(got) == sizeof(request) &&
                     (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                     request.plan.task_file_count <= request.plan.task_files.size();
  return whole ? Received::kRequest : Received::kEnd;
}

void setup_failed(const Plan& plan, Stage stage, int errno_value) {
  LinkMessage message;
  message.kind = LinkMessage::Kind::kSetupFailed;
  message.stage = static_cast<std::uint32_t>(stage);
  message.errno_value = errno_value;
  send_link(plan.link, message);
  ::_exit(1);
}

void wait_for_warden(const Plan& plan, Stage stage) {
  step(plan, stage, [&] {
    char byte = 0;
    for (;;) {
      const ssize_t got = ::recv(plan.link, &byte, 1, 0);
      if (got == 1) return 0;
      if (got == 0) ::_exit(1);  // the warden is gone
      if (errno != EINTR) return errno;
    }
  });
}

int attach_self(const Plan& plan) {
  for (std::size_t i = 0; i < plan.task_file_count; ++i) {
    if (::write(plan.task_files[i], "0", 1) < 0) return errno;
    (void)::close(plan.task_files[i]);
  }
  return 0;
}

int close_inherited(const Plan& plan) {
  int kept[7 + frame::kRuntimeFilesMax] = {plan.link,       plan.stdin_fd,   plan.stdout_fd, plan.stderr_fd,
                                           plan.control_fd, plan.devices_fd, plan.zygote_fd};
  std::copy(plan.runtime_fds.begin(), plan.runtime_fds.end(), kept + 7);
  for (int& fd : kept) fd = fd < 0 ? plan.link : fd;  // those that there are not
  std::sort(std::begin(kept), std::end(kept));
  unsigned next = 0;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next && ::syscall(SYS_close_range, next, number - 1, 0U) < 0) return errno;
    next = number + 1;
  }
  return errno_of(::syscall(SYS_close_range, next, ~0U, 0U));
}

int set_affinity(const Plan& plan) {
  cpu_set_t have;
  CPU_ZERO(&have);
  if (::sched_getaffinity(0, sizeof(have), &have) < 0) return errno;
  const auto total = static_cast<std::uint32_t>(CPU_COUNT(&have));
  if (plan.affinity_count == 0 || plan.affinity_count >= total) return 0;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  std::uint32_t index = 0;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &have)) continue;
    const std::uint32_t from_first = (index + total - plan.affinity_first % total) % total;
    if (from_first < plan.affinity_count) CPU_SET(cpu, &wanted);
    ++index;
  }
  return errno_of(::sched_setaffinity(0, sizeof(wanted), &wanted));
}

void finish_tree(const Plan& plan) {
  step_if(plan, Wall::kUtsNs, Stage::kHostName, [] { return errno_of(::sethostname("box", 3)); });
  step_if(plan, Wall::kNetNs, Stage::kLoopback, [] { return bring_loopback_up(); });
  step_if(plan, Wall::kCpuShare, Stage::kAffinity, [&] { return set_affinity(plan); });
  own_pipes(plan);
  hand_out_layer(plan);
}

int block_child_signals(const Plan& plan) {
  int signals = -1;
  step(plan, Stage::kFork, [&] {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (::sigprocmask(SIG_BLOCK, &child, nullptr) < 0) return errno;
    signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    return errno_of(signals);
  });
  return signals;
}

void unblock_child_signals(int signals) {
  (void)::close(signals);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  (void)::sigprocmask(SIG_UNBLOCK, &child, nullptr);
}

void drop_init(const Plan& plan) {
  step(plan, Stage::kInitDrop, [&] {
    // stops: descriptors that a flaw in this process could be made to use
    for (const int fd : {plan.stdin_fd, plan.stdout_fd, plan.stderr_fd, plan.control_fd}) {
      if (fd >= 0) (void)::close(fd);
    }
    for (const int fd : plan.runtime_fds) {
      if (fd >= 0) (void)::close(fd);
    }
    // stops: a box that stands still from outliving its warden, whose link's end it cannot see. After the
    // last change of ids, which would undo it: prctl(2), PR_SET_PDEATHSIG.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) return errno;
    if (const int failed = drop_bounding_set(); failed != 0) return failed;
    if (const int failed = drop_all_capabilities(); failed != 0) return failed;
    return errno_of(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  });
  step(plan, Stage::kInitSeccomp, [&] {
    LinkMessage message;
    message.kind = LinkMessage::Kind::kInitReady;
    send_link(plan.link, message);
    return install(init_program());
  });
}

void reap(const Plan& plan, pid_t main_pid, int signals) {
  for (;;) {
    int status = 0;
    const pid_t pid = ::wait4(-1, &status, WNOHANG, nullptr);
    if (pid > 0 && pid == main_pid) {
      LinkMessage message;
      message.kind = LinkMessage::Kind::kMainEnded;
      message.wait_status = status;
      // EPERM: somebody is there, whom this process may not signal. ESRCH: nobody.
      message.leftover = ::kill(-1, 0) == 0 || errno == EPERM ? 1 : 0;
      send_link(plan.link, message);
      linger(plan);
      ::_exit(0);
    }
    if (pid > 0) continue;
    pollfd items[2] = {{signals, POLLIN, 0}, {plan.link, POLLIN, 0}};
    if (::poll(items, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (items[1].revents != 0) {  // the warden says nothing more: its end has closed
      linger(plan);
      ::_exit(1);
    }
    if (items[0].revents != 0) {
      signalfd_siginfo drained[8];
      (void)::read(signals, drained, sizeof(drained));  // only that it came matters
    }
  }
}

}  // namespace casemate::jail
