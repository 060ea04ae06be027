// casemate-vm-init: process 1 of a microvm. Makes the guest that a program expects from the image and from
// memory, starts the program in it, and carries what goes in and out.
//
//     /init                       from the initramfs, whose /modules has what the kernel needs for its
//     devices /command                    the program and its arguments, each ended by NUL; then an empty
//     one; then its
//                                 environment likewise; then limits as "name=value"
//     /input                      what the program reads, if anything
//     /guest                      what is layered over the image
//
// The program has pipes and a socket of its own and not the port: a port takes a write in part, can be opened
// once, and hangs its writer when nobody listens.
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/random.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "microvm/channel.h"
#include "microvm/guest_tree.h"
#include "microvm/identity.h"
#include "microvm/message_io.h"

namespace casemate::guest {
namespace {

constexpr int kExecFailed = 125;
constexpr int kBackOffMs = 20;
constexpr int kPortTries = 2000;                          // of a millisecond
constexpr int kEndTries = 5000;                           // likewise
constexpr std::size_t kHeldMax = std::size_t{256} << 10;  // for a runner that does not read

int port = -1;
bool is_program = false;  // a process that is about to execute it

[[noreturn]] void power_off() {
  (void)::reboot(RB_AUTOBOOT);  // with -no-reboot the quickest sure end
  for (;;) (void)::pause();
}

std::string untold;

void flush() {
  for (std::size_t at = 0; at < untold.size();) {
    const ssize_t put = ::write(port, untold.data() + at, untold.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    at += static_cast<std::size_t>(put);
  }
  untold.clear();
}

// With what else there is to tell before this process waits: each write to a port stops the machine's
// processor.
void tell(Message type, std::string_view payload) {
  untold += message_of(type, payload);
  if (untold.size() >= kMessageMax) flush();
}

void answer(int failed) {
  const auto number = static_cast<std::uint32_t>(failed);
  tell(Message::kDone, bytes_of(number));
}

// The device's own number is not fixed: the serial device may be the first or the second.
int open_port() {
  for (int tries = 0; tries < kPortTries; ++tries) {
    for (int device = 0; device < 4; ++device) {
      const std::string path = "/dev/vport" + std::to_string(device) + "p" + std::to_string(kPortNumber);
      const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (opened >= 0) return opened;
    }
    (void)::usleep(1000);
  }
  return -1;
}

// ---- The program

struct Program {
  pid_t pid = -1;
  int out = -1, err = -1, control = -1;  // our ends
  std::string to_runner;                 // on its way to `control`
  bool runner_gone = false;
  bool control_ended = false;
};

[[noreturn]] void run_program(const Command& command, std::array<int, 4> fds) {
  is_program = true;
  for (int& fd : fds) fd = ::fcntl(fd, F_DUPFD, 64);
  for (int i = 0; i < 4; ++i) need(::dup2(fds.at(static_cast<std::size_t>(i)), i) >= 0, "dup2");
  (void)::syscall(SYS_close_range, 4U, ~0U, 0U);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::setsid();
  enter_tree(command.limits);
  (void)::execve(command.arguments.front(), command.arguments.data(), command.environment.data());
  ::_exit(kExecFailed);
}

Program start_program(const Command& command) {
  Program program;
  int out[2], err[2], control[2];
  need(::pipe2(out, O_CLOEXEC) == 0 && ::pipe2(err, O_CLOEXEC) == 0 &&
           ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0,
       "make the program's channels");
  for (const int fd : {out[0], err[0], control[0]}) (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
  int input = ::open("/input", O_RDONLY | O_CLOEXEC);
  if (input < 0) input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  (void)::unlink("/input");
  program.pid = ::fork();
  need(program.pid >= 0 && input >= 0, "fork");
  if (program.pid == 0) run_program(command, {input, out[1], err[1], control[1]});
  for (const int fd : {input, out[1], err[1], control[1]}) (void)::close(fd);
  program.out = out[0];
  program.err = err[0];
  program.control = control[0];
  return program;
}

// One read of what is there. How much that was; the descriptor is closed when nothing can come any more.
std::size_t take(int& fd, Message type) {
  static std::array<char, kMessageMax> bytes;
  ssize_t got = -1;
  do {
    got = fd < 0 ? 0 : ::read(fd, bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  if (fd >= 0 && (got == 0 || (got < 0 && errno != EAGAIN))) {
    (void)::close(fd);
    fd = -1;
  }
  if (got <= 0) return 0;
  tell(type, {bytes.data(), static_cast<std::size_t>(got)});
  return static_cast<std::size_t>(got);
}

// Everything that was printed before the runner's next word goes before it. Not what is printed meanwhile:
// that may have no end.
void take_printed(Program& program) {
  for (const auto& [fd, type] : {std::pair{&program.out, Message::kOut}, {&program.err, Message::kErr}}) {
    int waiting = 0;
    if (*fd < 0 || ::ioctl(*fd, FIONREAD, &waiting) < 0) continue;
    while (waiting > 0) {
      const std::size_t taken = take(*fd, type);
      if (taken == 0) break;
      waiting -= static_cast<int>(taken);
    }
  }
}

void give_runner(Program& program) {
  while (!program.to_runner.empty() && program.control >= 0) {
    const ssize_t put = ::send(program.control, program.to_runner.data(), program.to_runner.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) program.runner_gone = true;
    program.to_runner.erase(0, put < 0 ? std::string::npos : static_cast<std::size_t>(put));
  }
  if (program.control_ended && program.control >= 0) (void)::shutdown(program.control, SHUT_WR);
}

// ---- What the launcher asks for

Identity identity;

std::uint64_t inodes_of_layer() {
  struct statvfs layer {};
  if (::statvfs((std::string(kRoot) + "/vol").c_str(), &layer) < 0) fail("look at the layer");
  return layer.f_files - layer.f_ffree;
}

// What the kernel draws from must not be what its template drew from.
int stir(std::string_view bytes) {
  constexpr std::size_t kMost = 512;
  bytes = bytes.substr(0, kMost);
  // struct rand_pool_info, whose bytes follow its two numbers.
  const std::array<int, 2> numbers = {static_cast<int>(bytes.size() * 8), static_cast<int>(bytes.size())};
  std::array<char, sizeof(numbers) + kMost> pool{};
  std::memcpy(pool.data(), numbers.data(), sizeof(numbers));
  std::memcpy(pool.data() + sizeof(numbers), bytes.data(), bytes.size());
  const int random = ::open("/dev/urandom", O_RDWR | O_CLOEXEC);
  if (random < 0) return errno;
  int failed = ::ioctl(random, RNDADDENTROPY, pool.data()) < 0 ? errno : 0;
  if (failed == 0 && ::ioctl(random, RNDRESEEDCRNG) < 0) failed = errno;
  (void)::close(random);
  return failed;
}

bool set_clock(std::string_view payload) {
  ClockTime clock;
  if (!read_value(payload, clock)) return false;
  const timespec time{clock.seconds, clock.nanoseconds};
  return ::clock_settime(CLOCK_REALTIME, &time) == 0;
}

// A file of the layer, in pieces that are no holes. 0 or an errno.
int tell_file(const std::string& path) {
  const int layer = ::open((std::string(kRoot) + "/vol").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const int found = static_cast<int>(::syscall(SYS_openat2, layer, path.c_str(), &how, sizeof(how)));
  const int refused = errno;
  (void)::close(layer);
  if (found < 0) return refused;
  struct stat status {};
  (void)::fstat(found, &status);
  const FileKind kind{status.st_mode, static_cast<std::uint32_t>(status.st_nlink),
                      static_cast<std::uint64_t>(status.st_size)};
  tell(Message::kFileKind, bytes_of(kind));
  const bool regular = S_ISREG(status.st_mode);
  const int file =
      regular ? ::open(("/proc/self/fd/" + std::to_string(found)).c_str(), O_RDONLY | O_CLOEXEC) : -1;
  const int failed = regular && file < 0 ? errno : 0;
  (void)::close(found);
  if (file < 0) return failed;
  std::array<char, kMessageMax / 2> bytes{};
  for (off_t at = 0; (at = ::lseek(file, at, SEEK_DATA)) >= 0;) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), at);
    if (got <= 0) break;
    const auto where = static_cast<std::uint64_t>(at);
    std::string piece(bytes_of(where));
    piece.append(bytes.data(), static_cast<std::size_t>(got));
    tell(Message::kFileData, piece);
    at += got;
  }
  (void)::close(file);
  return 0;
}

// False: what the launcher never says.
bool hear(const ReceivedMessage& said, Program& program) {
  switch (said.type) {
    case Message::kControl:
      if (!program.runner_gone) program.to_runner += said.payload;
      return true;
    case Message::kControlEnd: program.control_ended = true; return true;
    case Message::kTemplate: answer(identity.be_template(said.payload, inodes_of_layer())); return true;
    case Message::kFresh: answer(identity.be_restored(said.payload, inodes_of_layer())); return true;
    case Message::kEntropy: answer(stir(said.payload)); return true;
    case Message::kClock: return set_clock(said.payload);
    case Message::kFile: {
      const auto failed = static_cast<std::uint32_t>(tell_file(said.payload));
      tell(Message::kFileEnd, bytes_of(failed));
      return true;
    }
    default: return false;
  }
}

// ---- The end of the program

// With its whole tree; then what they printed to the last, and how it was.
void tell_end(Program& program, int status) {
  const std::string group = kProgramGroup;
  write_text(group + "/cgroup.kill", "1");
  for (int tries = 0; number_in(group + "/cgroup.events", "populated ") != 0 && tries < kEndTries; ++tries) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    (void)::usleep(1000);
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  take_printed(program);
  while (take(program.control, Message::kControl) > 0) {
  }
  GuestEnded ended;
  ended.status = static_cast<std::uint32_t>(status);
  ended.oom_kills = number_in(group + "/memory.events", "oom_kill ");
  ended.memory_peak = number_in(group + "/memory.peak", "");
  ended.pids_refused = number_in(group + "/pids.events", "max ");
  ended.pids_peak = number_in(group + "/pids.peak", "");
  struct statvfs layer {};
  if (::statvfs((std::string(kRoot) + "/vol").c_str(), &layer) == 0) {
    ended.disk_used = (layer.f_blocks - layer.f_bfree) * layer.f_frsize;
    ended.disk_free = layer.f_bfree * layer.f_frsize;
    ended.inodes_free = layer.f_ffree;
  }
  ended.run = identity.run();
  tell(Message::kEnded, bytes_of(ended));
}

void reap(int signals, Program& program) {
  signalfd_siginfo info{};
  while (::read(signals, &info, sizeof(info)) > 0) {
  }
  int status = 0;
  for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != program.pid) continue;
    program.pid = -1;
    return tell_end(program, status);
  }
}

// Carries until the launcher ends this machine.
[[noreturn]] void serve(int signals, Program program) {
  MessageReader reader;
  bool gone = false;  // the port's other end: looked at again after a while
  for (;;) {
    const bool hears = !gone && program.to_runner.size() < kHeldMax;
    const short control = program.to_runner.empty() ? POLLIN : POLLIN | POLLOUT;
    std::array<pollfd, 5> items = {pollfd{hears ? port : -1, POLLIN, 0},
                                   {signals, POLLIN, 0},
                                   {program.out, POLLIN, 0},
                                   {program.err, POLLIN, 0},
                                   {program.control, control, 0}};
    flush();
    if (::poll(items.data(), items.size(), gone ? kBackOffMs : -1) < 0 && errno != EINTR) fail("poll");
    gone = false;
    if (items[2].revents != 0 || items[3].revents != 0) {
      (void)take(program.out, Message::kOut);
      (void)take(program.err, Message::kErr);
    }
    if ((items[4].revents & ~POLLOUT) != 0) {
      take_printed(program);
      (void)take(program.control, Message::kControl);
    }
    if (items[0].revents != 0) {
      gone = !reader.read(port);
      ReceivedMessage said;
      for (auto next = reader.next(said); next != MessageReader::Next::kNone; next = reader.next(said)) {
        if (next == MessageReader::Next::kBroken || !hear(said, program)) fail("the launcher's message");
      }
    }
    give_runner(program);
    if (items[1].revents != 0) reap(signals, program);
  }
}

int be_init() {
  for (const char* directory : {"/dev", "/proc", "/root", "/image", "/group"}) (void)::mkdir(directory, 0755);
  (void)::mount("dev", "/dev", "devtmpfs", 0, nullptr);
  (void)::mount("proc", "/proc", "proc", 0, nullptr);
  load_modules();
  port = open_port();
  if (port < 0) power_off();
  Command command;
  read_command(command);
  make_tree(command.limits);
  make_group(command.limits);
  sigset_t children;
  (void)::sigemptyset(&children);
  (void)::sigaddset(&children, SIGCHLD);
  (void)::sigprocmask(SIG_BLOCK, &children, nullptr);
  const int signals = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  need(signals >= 0, "signalfd");
  Program program = start_program(command);
  tell(Message::kReady, "");
  serve(signals, std::move(program));
}

}  // namespace

void fail(const char* what) {
  const std::string text = std::string(what) + ": " + std::strerror(errno);
  if (is_program) ::_exit(kExecFailed);
  if (port >= 0) tell(Message::kFailed, text.substr(0, 200));
  if (port >= 0) flush();
  power_off();
}

}  // namespace casemate::guest

int main() { return casemate::guest::be_init(); }
