// Theory of operation: the zygote of a sandbox that the runs of one tenant share, one after another.
//
// It runs in a guest's own kernel (gVisor's), as root of it with a few capabilities, and no program ever runs
// in it. Its link to the engine is nobody else's: a guest has a control socket and pipes of its own, which
// the engine sends with each kFork, and closes the link first of all. So what a guest says is never taken for
// what the zygote says.
//
//   kFork   mounts new file systems over all places that can be written to, forks; the guest becomes another
//           user without capabilities, in namespaces of its own of what a kernel keeps beyond processes
//           (System V and POSIX queues, network, host name), and is the runner that waits for a program
//   kClean  ends everybody but process 1 and itself until nobody is left, restores what anybody may set of
//   these two,
//           unmounts what it had mounted, which
//           fails while anything of it is open, and says kCleaned
//
// A guest that ends before that has its end told on its control socket, as process 1 of a guest tells it, and
// the zygote ends in the same way: then the sandbox ends with it. So it does whenever something cannot be
// shown.
#include "zygote/shared.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "frame/guest.h"
#include "init/end_frame.h"
#include "jail/child.h"
#include "zygote/schedule.h"

namespace casemate::guest {
namespace {

using frame::GuestType;

constexpr int kGuestId = 1000;
constexpr int kControl = 3;
constexpr int kExitFailed = 125;
// For all that a guest left to be gone. What takes longer is not worth waiting for: the sandbox ends.
constexpr long kCleanMs = 2000;
constexpr int kLookMs = 1;

struct Place {
  const char* path;
  unsigned long flags;
  const char* options;
};
// All that a box lets its program write to. Device nodes need no flag: a guest has no right to make one.
constexpr std::array<Place, 3> kPlaces = {
    {{"/vol", MS_NOSUID, "mode=0755"},
     {"/tmp", MS_NOSUID, "mode=1777"},
     {"/dev/shm", MS_NOSUID | MS_NOEXEC, "mode=0755,uid=1000,gid=1000"}}};

// Where its standard error is the engine's, this is the reason that is told.
[[noreturn]] void die(const char* what) {
  (void)::dprintf(2, "\nshared sandbox: %s: %s\n", what, std::strerror(errno));
  ::_exit(kExitFailed);
}

void must(bool done, const char* what) {
  if (!done) die(what);
}

long now_ms() {
  timespec at{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000 + at.tv_nsec / 1'000'000;
}

// ---- What is mounted

void mount_places(std::uint64_t disk) {
  for (const Place& place : kPlaces) {
    const std::string options = std::string(place.options) + ",size=" + std::to_string(disk);
    must(::mount("casemate", place.path, "tmpfs", place.flags, options.c_str()) == 0, place.path);
  }
  // All are made before the first is given away: this one may not write to what is another user's.
  constexpr std::array kMade = {"/vol/work", "/vol/work/out", "/vol/home", "/vol/run", "/vol/tmp"};
  for (const char* path : kMade) must(::mkdir(path, 0755) == 0, path);
  must(::chmod("/vol/tmp", 01777) == 0, "/vol/tmp");
  for (const char* path : kMade) must(::chown(path, kGuestId, kGuestId) == 0, path);
}

// The lines of the mount table, in an order of their own.
std::vector<std::string> mounted() {
  const int file = ::open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
  must(file >= 0, "read the mounts");
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  (void)::close(file);
  must(!text.empty(), "read the mounts");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// What the places are, by lookup.
std::array<dev_t, kPlaces.size()> devices_of_places() {
  std::array<dev_t, kPlaces.size()> devices{};
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    struct stat status {};
    must(::stat(kPlaces.at(i).path, &status) == 0, kPlaces.at(i).path);
    devices.at(i) = status.st_dev;
  }
  return devices;
}

// ---- The guest

// Its descriptors and nothing else: above all not the link.
void place_descriptors(const std::array<int, 3>& fds) {
  std::array<int, 3> high{};
  for (std::size_t i = 0; i < fds.size(); ++i) {
    high.at(i) = ::fcntl(fds.at(i), F_DUPFD_CLOEXEC, 64);
    must(high.at(i) >= 0, "keep a descriptor");
  }
  for (std::size_t i = 0; i < fds.size(); ++i)
    must(::dup2(high.at(i), static_cast<int>(i) + 1) >= 0, "place a descriptor");
  static_assert(kControl == 3);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  must(null >= 0 && ::dup2(null, 0) == 0, "open /dev/null");
  // gVisor takes no last descriptor above that.
  must(::syscall(SYS_close_range, kControl + 1, INT32_MAX, 0) == 0, "close what is inherited");
}

void give_up_rights() {
  must(::setgroups(0, nullptr) == 0, "leave the groups");
  errno = jail::drop_bounding_set();
  must(errno == 0, "drop the bounding set");
  must(::setresgid(kGuestId, kGuestId, kGuestId) == 0 && ::setresuid(kGuestId, kGuestId, kGuestId) == 0,
       "become another user");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct held[2] = {};
  must(::syscall(SYS_capset, &header, held) == 0, "drop the capabilities");
  // A change of user id cleared this, and with it the ownership of /proc/self.
  must(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "own /proc/self");
  must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "forbid new privileges");
  // Its kernel is asked, and not the steps above.
  must(::syscall(SYS_capget, &header, held) == 0, "look at the capabilities");
  for (const auto& half : held) {
    errno = EPERM;
    must((half.effective | half.permitted | half.inheritable) == 0, "hold no capability");
  }
  errno = EPERM;
  must(::setresuid(0, 0, 0) < 0 && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "stay another user");
}

void become_guest(const std::array<int, 3>& fds, const sigset_t& signals) {
  place_descriptors(fds);
  (void)::setsid();
  must(::unshare(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET) == 0, "enter namespaces of its own");
  give_up_rights();
  (void)::umask(022);
  must(::chdir("/vol/work") == 0, "enter /vol/work");
  must(::sigprocmask(SIG_SETMASK, &signals, nullptr) == 0, "take signals again");
}

// ---- The zygote

class Zygote {
 public:
  Zygote(int link, std::uint64_t disk, const ForkHooks& hooks) : link_(link), disk_(disk), hooks_(hooks) {
    must(::chdir("/") == 0, "leave /vol");
    sigset_t child_ends;
    (void)::sigemptyset(&child_ends);
    (void)::sigaddset(&child_ends, SIGCHLD);
    must(::sigprocmask(SIG_BLOCK, &child_ends, &signals_) == 0, "block SIGCHLD");
    child_ends_ = ::signalfd(-1, &child_ends, SFD_CLOEXEC | SFD_NONBLOCK);
    must(child_ends_ >= 0, "signalfd");
    mounted_ = mounted();
    devices_ = devices_of_places();
    must(schedules_.read(), "look at processors and priority");
    say(GuestType::kServing);
  }

  // Returns in a guest: whether it is to rehearse.
  bool serve() {
    for (;;) {
      std::array<pollfd, 2> items = {pollfd{link_, POLLIN, 0}, pollfd{child_ends_, POLLIN, 0}};
      if (::poll(items.data(), items.size(), -1) < 0) continue;
      if (items[1].revents != 0) look_at_guest();
      if (items[0].revents == 0) continue;
      std::array<int, 3> fds{};
      const GuestType order = receive(fds);
      switch (order) {
        case GuestType::kFork:
        case GuestType::kForkWarm:
          if (fork_guest(fds)) return order == GuestType::kFork;
          break;
        case GuestType::kClean: clean(); break;
        default: ::_exit(kExitFailed);
      }
    }
  }

 private:
  using Header = std::array<std::uint32_t, 2>;  // length, type: frame/frame.h

  void say(GuestType type) const {
    const Header header = {0, static_cast<std::uint32_t>(type)};
    must(::send(link_, header.data(), sizeof(header), MSG_NOSIGNAL) == sizeof(header), "tell the engine");
  }

  // An order, with the descriptors of a fork. The engine writes each at once. Ends with the engine.
  GuestType receive(std::array<int, 3>& fds) const {
    Header header{};
    iovec part{header.data(), sizeof(header)};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(fds))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(link_, &message, MSG_CMSG_CLOEXEC);
    if (got != sizeof(header) || header[0] != 0) ::_exit(got == 0 ? 0 : kExitFailed);
    const auto type = static_cast<GuestType>(header[1]);
    const cmsghdr* rights = CMSG_FIRSTHDR(&message);
    const bool came = rights != nullptr && rights->cmsg_level == SOL_SOCKET &&
                      rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(fds));
    errno = EPROTO;
    must(came == (type == GuestType::kFork || type == GuestType::kForkWarm), "take the descriptors of a run");
    if (came) std::memcpy(fds.data(), CMSG_DATA(rights), sizeof(fds));
    return type;
  }

  bool fork_guest(const std::array<int, 3>& fds) {
    errno = EPROTO;
    must(guest_ == 0, "have one guest at a time");
    mount_places(disk_);
    hooks_.before();
    guest_ = ::fork();
    must(guest_ >= 0, "fork");
    if (guest_ == 0) {
      become_guest(fds, signals_);
      hooks_.in_child();
      return true;
    }
    hooks_.in_parent();
    (void)::close(fds[0]);
    (void)::close(fds[1]);
    control_ = fds[2];
    return false;
  }

  // A guest that ended by itself ends the sandbox, in the same way.
  void look_at_guest() {
    signalfd_siginfo info{};
    while (::read(child_ends_, &info, sizeof(info)) > 0) {
    }
    int status = 0;
    if (guest_ == 0 || ::waitpid(guest_, &status, WNOHANG) != guest_) return;
    (void)sweep(now_ms() + kCleanMs);
    tell_end(control_, {{frame::Tag::kWaitStatus, static_cast<std::uint32_t>(status)}});
    if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
    const int number = WTERMSIG(status);
    (void)::signal(number, SIG_DFL);
    (void)::kill(::getpid(), number);
    sigset_t none;
    (void)::sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::_exit(kExitFailed);
  }

  void clean() {
    const long until = now_ms() + kCleanMs;
    must(sweep(until), "end what a run left");
    must(schedules_.restore(), "restore processors and priority");
    guest_ = 0;
    if (control_ >= 0) (void)::close(control_);
    control_ = -1;
    for (const Place& place : kPlaces) unmount(place.path, until);
    errno = EBUSY;
    must(mounted() == mounted_ && devices_of_places() == devices_, "find nothing mounted");
    say(GuestType::kCleaned);
  }

  // True when nobody is left but process 1 and this one. Who forks while he is looked for is found the next
  // time.
  bool sweep(long until) const {
    for (;;) {
      (void)::kill(-1, SIGKILL);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      if (alone()) return true;
      errno = ETIMEDOUT;
      if (now_ms() > until) return false;
      // Until a child of ours ends. That process 1 has reaped one of the others nobody tells.
      pollfd item{child_ends_, POLLIN, 0};
      (void)::poll(&item, 1, kLookMs);
      signalfd_siginfo info{};
      (void)!::read(child_ends_, &info, sizeof(info));
    }
  }

  static bool alone() {
    DIR* processes = ::opendir("/proc");
    must(processes != nullptr, "look at /proc");
    const long self = ::getpid();
    bool alone = true, seen = false;
    while (const dirent* entry = ::readdir(processes)) {
      char* end = nullptr;
      const long pid = std::strtol(entry->d_name, &end, 10);
      if (end == entry->d_name || *end != '\0') continue;
      seen = seen || pid == self;
      alone = alone && (pid == 1 || pid == self);
    }
    (void)::closedir(processes);
    return alone && seen;
  }

  // Busy is what is open, mapped or somebody's working directory.
  static void unmount(const char* path, long until) {
    while (::umount2(path, 0) < 0) {
      must(errno == EBUSY && now_ms() <= until, path);
      (void)::poll(nullptr, 0, kLookMs);
    }
  }

  int link_;
  std::uint64_t disk_;
  ForkHooks hooks_;
  sigset_t signals_{};  // that a guest has blocked
  int child_ends_ = -1;
  std::vector<std::string> mounted_;  // without a guest
  std::array<dev_t, kPlaces.size()> devices_{};
  Schedules schedules_;
  pid_t guest_ = 0;
  int control_ = -1;  // the guest's, for its end
};

}  // namespace

bool serve_shared(int link, std::uint64_t disk, const ForkHooks& hooks) {
  return Zygote(link, disk, hooks).serve();
}

}  // namespace casemate::guest
