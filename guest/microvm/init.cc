// casemate-vm-init: process 1 of a microvm. Makes the guest that a program expects from the image and from
// memory, starts the program in it, and carries what it prints out.
//
//     /init                       from the initramfs, whose /modules has what the kernel needs for its devices
//     /command                    the program and its arguments, each ended by NUL; then an empty one; then its
//                                 environment likewise; then limits as "name=value"
//
// The program writes to pipes and not to the ports: a port takes a write in part, can be opened once, and hangs
// its writer when nobody listens (measured). What is in the pipes is relayed; how much was written in all is
// told when it is asked for, since there is no order between two ports.
#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "microvm/keeper.h"

namespace casemate::guest {
namespace {

constexpr const char* kRoot = "/root";
constexpr unsigned kGuestId = 1000;
constexpr int kExecFailed = 125;
constexpr int kBackOffMs = 20;

int keeper = -1;

[[noreturn]] void power_off() {
  (void)::reboot(RB_AUTOBOOT);  // with -no-reboot the quickest sure end
  for (;;) (void)::pause();
}

bool write_all(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t put = ::write(fd, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool read_all(int fd, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void tell(Keeper type, const void* bytes, std::size_t size) {
  const KeeperHeader header{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(size)};
  if (write_all(keeper, &header, sizeof(header))) (void)write_all(keeper, bytes, size);
}

[[noreturn]] void die(const char* what) {
  const std::string text = std::string(what) + ": " + std::strerror(errno);
  if (keeper >= 0) tell(Keeper::kFailed, text.data(), text.size());
  power_off();
}

void need(bool done, const char* what) {
  if (!done) die(what);
}

void load_modules() {
  // In the order in which they need each other.
  for (const char* name : {"virtio_ring", "virtio", "virtio_mmio", "virtio_console", "virtio_blk", "squashfs", "overlay"}) {
    const std::string path = std::string("/modules/") + name + ".ko";
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;  // built in
    need(::syscall(SYS_finit_module, file, "", 0) == 0 || errno == EEXIST, name);
    (void)::close(file);
  }
}

// The device's own number is not fixed: the serial device may be the first or the second.
int open_port(int number, int flags) {
  for (int tries = 0; tries < 2000; ++tries) {
    for (int device = 0; device < 4; ++device) {
      const std::string path = "/dev/vport" + std::to_string(device) + "p" + std::to_string(number);
      const int port = ::open(path.c_str(), flags | O_CLOEXEC);
      if (port >= 0) return port;
    }
    (void)::usleep(1000);
  }
  return -1;
}

struct Limits {
  std::string disk = "64m", inodes = "16384";
  rlim_t file_size = RLIM_INFINITY, open_files = 1024, processes = RLIM_INFINITY;
};

void mount_at(const char* type, const char* source, const std::string& at, unsigned long flags,
              const std::string& options) {
  need(::mount(source, at.c_str(), type, flags, options.c_str()) == 0, at.c_str());
}

void make_device(const char* name, unsigned minor) {
  const std::string path = std::string(kRoot) + "/dev/" + name;
  need(::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(1, minor)) == 0 && ::chmod(path.c_str(), 0666) == 0,
       path.c_str());
}

void make_directory(const std::string& path, mode_t mode, unsigned owner) {
  need(::mkdir(path.c_str(), mode) == 0 || errno == EEXIST, path.c_str());
  need(::chown(path.c_str(), owner, owner) == 0 && ::chmod(path.c_str(), mode) == 0, path.c_str());
}

// One tmpfs for all that the program can write to, as a box's layer: its limits hold for the sum.
void make_tree(const Limits& limits) {
  const std::string root = kRoot;
  for (int tries = 0; ::mount("/dev/vda", "/image", "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) < 0; ++tries) {
    if (tries > 500) die("mount the image");
    (void)::usleep(2000);
  }
  mount_at("overlay", "root", kRoot, MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=/guest:/image");
  mount_at("tmpfs", "dev", root + "/dev", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k,nr_inodes=64");
  make_device("null", 3);
  make_device("zero", 5);
  make_device("full", 7);
  make_device("random", 8);
  make_device("urandom", 9);
  mount_at("tmpfs", "layer", root + "/vol", MS_NOSUID | MS_NODEV,
           "mode=755,size=" + limits.disk + ",nr_inodes=" + limits.inodes);
  for (const char* name : {"/vol/work", "/vol/home", "/vol/run"}) make_directory(root + name, 0755, kGuestId);
  make_directory(root + "/vol/work/out", 0755, kGuestId);
  make_directory(root + "/vol/tmp", 01777, 0);
  make_directory(root + "/vol/shm", 01777, 0);
  make_directory(root + "/dev/shm", 0755, 0);
  mount_at(nullptr, (root + "/vol/tmp").c_str(), root + "/tmp", MS_BIND, "");
  mount_at(nullptr, (root + "/vol/shm").c_str(), root + "/dev/shm", MS_BIND, "");
  mount_at("proc", "proc", root + "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=ptraceable");
}

struct Command {
  std::vector<char*> arguments, environment;
  Limits limits;
  std::string bytes;  // what they point into
};

void read_command(Command& command) {
  const int file = ::open("/command", O_RDONLY | O_CLOEXEC);
  need(file >= 0, "/command");
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;)
    command.bytes.append(buffer.data(), static_cast<std::size_t>(got));
  (void)::close(file);
  int part = 0;
  for (std::size_t at = 0; at < command.bytes.size();) {
    char* text = command.bytes.data() + at;
    const std::size_t size = ::strnlen(text, command.bytes.size() - at);
    at += size + 1;
    if (size == 0) {
      ++part;
    } else if (part == 0) {
      command.arguments.push_back(text);
    } else if (part == 1) {
      command.environment.push_back(text);
    } else {
      const std::string_view entry(text, size);
      const std::size_t equals = entry.find('=');
      const std::string_view name = entry.substr(0, equals);
      const std::string value(entry.substr(equals + 1));
      if (name == "disk") command.limits.disk = value;
      if (name == "inodes") command.limits.inodes = value;
      if (name == "file_size") command.limits.file_size = std::strtoull(value.c_str(), nullptr, 10);
      if (name == "open_files") command.limits.open_files = std::strtoull(value.c_str(), nullptr, 10);
      if (name == "processes") command.limits.processes = std::strtoull(value.c_str(), nullptr, 10);
    }
  }
  need(!command.arguments.empty(), "no program");
  command.arguments.push_back(nullptr);
  command.environment.push_back(nullptr);
}

// One of the program's two streams, from its pipe to its port.
struct Stream {
  int pipe = -1, port = -1;
  std::uint64_t taken = 0;  // from the pipe
  std::size_t at = 0, size = 0;
  std::array<char, 1 << 16> bytes{};

  bool holds() const { return at < size; }
  void take() {
    const ssize_t got = ::read(pipe, bytes.data(), bytes.size());
    if (got == 0) {
      (void)::close(pipe);
      pipe = -1;
    }
    if (got <= 0) return;
    at = 0;
    size = static_cast<std::size_t>(got);
    taken += size;
  }
  void give() {
    while (holds()) {
      const ssize_t put = ::write(port, bytes.data() + at, size - at);
      if (put <= 0) return;
      at += static_cast<std::size_t>(put);
    }
  }
  // With what is in the pipe still.
  std::uint64_t written() const {
    int waiting = 0;
    if (pipe >= 0) (void)::ioctl(pipe, FIONREAD, &waiting);
    return taken + static_cast<std::uint64_t>(waiting);
  }
};

std::array<Stream, 2> streams;

void set_limit(int which, rlim_t value) {
  const rlimit limit{value, value};
  (void)::setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

[[noreturn]] void run_program(const Command& command, std::array<int, 4> fds) {
  for (int& fd : fds) fd = ::fcntl(fd, F_DUPFD, 64);
  for (int i = 0; i < 4; ++i) {
    if (::dup2(fds.at(static_cast<std::size_t>(i)), i) < 0) ::_exit(kExecFailed);
  }
  (void)::syscall(SYS_close_range, 4U, ~0U, 0U);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, command.limits.file_size);
  set_limit(RLIMIT_NOFILE, command.limits.open_files);
  set_limit(RLIMIT_NPROC, command.limits.processes);
  (void)::setsid();
  if (::chroot(kRoot) < 0 || ::chdir("/vol/work") < 0 || ::setgroups(0, nullptr) < 0 ||
      ::setresgid(kGuestId, kGuestId, kGuestId) < 0 || ::setresuid(kGuestId, kGuestId, kGuestId) < 0)
    ::_exit(kExecFailed);
  (void)::execve(command.arguments.front(), command.arguments.data(), command.environment.data());
  ::_exit(kExecFailed);
}

// What the kernel draws from must not be what its template drew from.
int stir(const char* bytes, std::size_t size) {
  constexpr std::size_t kMost = 512;
  size = std::min(size, kMost);
  // struct rand_pool_info, whose bytes follow its two numbers.
  const std::array<int, 2> numbers = {static_cast<int>(size * 8), static_cast<int>(size)};
  std::array<char, sizeof(numbers) + kMost> pool{};
  std::memcpy(pool.data(), numbers.data(), sizeof(numbers));
  std::memcpy(pool.data() + sizeof(numbers), bytes, size);
  const int random = ::open("/dev/urandom", O_RDWR | O_CLOEXEC);
  if (random < 0) return errno;
  int failed = ::ioctl(random, RNDADDENTROPY, pool.data()) < 0 ? errno : 0;
  if (failed == 0 && ::ioctl(random, RNDRESEEDCRNG) < 0) failed = errno;
  (void)::close(random);
  return failed;
}

void answer(int failed) {
  const auto number = static_cast<std::uint32_t>(failed);
  tell(Keeper::kDone, &number, sizeof(number));
}

// False when the launcher is gone for now: a clone whose template was made has another one soon.
bool hear_keeper() {
  KeeperHeader header;
  static std::array<char, kKeeperMax> bytes;
  if (!read_all(keeper, &header, sizeof(header)) || header.length > bytes.size() ||
      !read_all(keeper, bytes.data(), header.length))
    return false;
  switch (static_cast<Keeper>(header.type)) {
    case Keeper::kEntropy: answer(stir(bytes.data(), header.length)); return true;
    case Keeper::kClock: {
      KeeperClock clock;
      if (header.length != sizeof(clock)) return false;
      std::memcpy(&clock, bytes.data(), sizeof(clock));
      const timespec time{clock.seconds, clock.nanoseconds};
      answer(::clock_settime(CLOCK_REALTIME, &time) < 0 ? errno : 0);
      return true;
    }
    case Keeper::kTotals: {
      const KeeperTotals totals{streams[0].written(), streams[1].written()};
      tell(Keeper::kTotals, &totals, sizeof(totals));
      return true;
    }
    default: return false;
  }
}

// Carries until the launcher ends this machine.
[[noreturn]] void serve(int signals, pid_t program) {
  bool gone = false;  // the keeper's other end: looked at again after a while
  for (;;) {
    std::array<pollfd, 6> items{};
    items[0] = {gone ? -1 : keeper, POLLIN, 0};
    items[1] = {signals, POLLIN, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      items.at(2 + i) = {streams.at(i).holds() ? -1 : streams.at(i).pipe, POLLIN, 0};
      items.at(4 + i) = {streams.at(i).holds() ? streams.at(i).port : -1, POLLOUT, 0};
    }
    if (::poll(items.data(), items.size(), gone ? kBackOffMs : -1) < 0 && errno != EINTR) die("poll");
    gone = false;
    for (std::size_t i = 0; i < 2; ++i) {
      // Nobody takes it any more: the program goes on all the same.
      if ((items.at(4 + i).revents & (POLLHUP | POLLOUT)) == POLLHUP) streams.at(i).at = streams.at(i).size;
      if (items.at(2 + i).revents != 0) streams.at(i).take();
      streams.at(i).give();
    }
    if (items[1].revents != 0) {
      signalfd_siginfo info{};
      while (::read(signals, &info, sizeof(info)) > 0) {}
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const auto said = static_cast<std::uint32_t>(status);
        if (ended == program) tell(Keeper::kEnded, &said, sizeof(said));
      }
    }
    if ((items[0].revents & POLLIN) != 0) {
      gone = !hear_keeper();
    } else if (items[0].revents != 0) {
      gone = true;
    }
  }
}

int be_init() {
  for (const char* directory : {"/dev", "/proc", "/sys", "/root", "/image"}) (void)::mkdir(directory, 0755);
  (void)::mount("dev", "/dev", "devtmpfs", 0, nullptr);
  (void)::mount("proc", "/proc", "proc", 0, nullptr);
  load_modules();
  keeper = open_port(kPortKeeper, O_RDWR);
  if (keeper < 0) power_off();
  Command command;
  read_command(command);
  make_tree(command.limits);
  const int control = open_port(kPortControl, O_RDWR);
  streams[0].port = open_port(kPortOut, O_WRONLY | O_NONBLOCK);
  streams[1].port = open_port(kPortErr, O_WRONLY | O_NONBLOCK);
  need(control >= 0 && streams[0].port >= 0 && streams[1].port >= 0, "the ports");
  std::array<int, 2> ends{};
  for (std::size_t i = 0; i < 2; ++i) {
    int pipe[2] = {-1, -1};
    need(::pipe2(pipe, O_CLOEXEC) == 0, "pipe");
    (void)::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    streams.at(i).pipe = pipe[0];
    ends.at(i) = pipe[1];
  }
  sigset_t children;
  (void)::sigemptyset(&children);
  (void)::sigaddset(&children, SIGCHLD);
  (void)::sigprocmask(SIG_BLOCK, &children, nullptr);
  const int signals = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  need(signals >= 0 && nothing >= 0, "signalfd");
  const pid_t program = ::fork();
  need(program >= 0, "fork");
  if (program == 0) run_program(command, {nothing, ends[0], ends[1], control});
  for (const int fd : {control, ends[0], ends[1], nothing}) (void)::close(fd);
  tell(Keeper::kReady, nullptr, 0);
  serve(signals, program);
}

}  // namespace
}  // namespace casemate::guest

int main() { return casemate::guest::be_init(); }
