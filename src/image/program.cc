#include "image/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace casemate::image {
namespace {

constexpr int kSetUpFailed = 125;
constexpr std::size_t kErrorTextKept = 4096;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

// All that the child needs, made before the fork as plain pointers.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::string uid_map;  // empty: already root, no user namespace
  std::string gid_map;
  int directory = -1;
  bool inside = false;
  int null = -1;
  int out = -1;
  int err = -1;
  pid_t parent = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (const std::string& string : strings) list.push_back(const_cast<char*>(string.c_str()));
  list.push_back(nullptr);
  return list;
}

// After fork, before exec: no allocation, no locks.
[[noreturn]] void die(const char* what) {
  (void)!::write(STDERR_FILENO, what, __builtin_strlen(what));  // nobody is left to tell
  ::_exit(kSetUpFailed);
}

void put(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    die("cannot map the user into a user namespace\n");
  }
  ::close(fd);
}

[[noreturn]] void become(const Prepared& prepared) {
  if (::dup2(prepared.err, STDERR_FILENO) < 0) ::_exit(kSetUpFailed);
  if (::dup2(prepared.null, STDIN_FILENO) < 0 || ::dup2(prepared.out, STDOUT_FILENO) < 0) die("dup2\n");
  // Ends with its builder: a killed build must leave nobody who writes to its directory.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || ::getppid() != prepared.parent) die("the builder is gone\n");
  if (!prepared.uid_map.empty()) {
    if (::unshare(CLONE_NEWUSER) < 0) die("the host allows no user namespace\n");
    static const std::string deny = "deny";
    put("/proc/self/setgroups", deny);
    put("/proc/self/uid_map", prepared.uid_map);
    put("/proc/self/gid_map", prepared.gid_map);
  }
  if (::fchdir(prepared.directory) < 0 || (prepared.inside && ::chroot(".") < 0)) {
    die("cannot enter the directory\n");
  }
  ::umask(022);
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) < 0) die("close_range\n");
  ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  die("cannot execute the program\n");
}

std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

std::string end_of(const sys::ExitStatus& status) {
  if (status.signal) return "was ended by signal " + std::to_string(*status.signal);
  return "ended with exit code " + std::to_string(status.code.value_or(-1));
}

}  // namespace

Result<Program> Program::start(const ProgramSpec& spec) {
  sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  const sys::Fd null = TRY(sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  Prepared prepared;
  prepared.arguments = pointers(spec.command);
  prepared.environment = pointers(spec.environment);
  prepared.directory = spec.directory->get();
  prepared.inside = spec.place == Place::kInside;
  prepared.null = null.get();
  prepared.out = out.second.get();
  prepared.err = err.second.get();
  prepared.parent = ::getpid();
  if (prepared.inside && ::geteuid() != 0) {
    prepared.uid_map = "0 " + std::to_string(::geteuid()) + " 1";
    prepared.gid_map = "0 " + std::to_string(::getegid()) + " 1";
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) become(prepared);
  // Not yet reaped by anybody, so the pid is still this child's.
  sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return fail_errno("pidfd_open");
  Program program;
  program.name_ = spec.command.front();
  program.child_ = sys::Child(std::move(pidfd), pid);
  program.out_ = std::move(out.first);
  program.err_ = std::move(err.first);
  return program;
}

std::array<pollfd, 2> Program::waits() const {
  return {pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0}};  // poll(2) passes over -1
}

Result<std::string_view> Program::take_output() {
  buffer_.resize(kReadBytes);
  const std::size_t got = TRY(sys::read_some(out_, buffer_));
  if (got == 0) out_.reset();
  return std::string_view(buffer_.data(), got);
}

Result<void> Program::take_errors() {
  std::array<char, 4096> buffer{};
  const std::size_t got = TRY(sys::read_some(err_, buffer));
  if (got == 0) err_.reset();
  errors_.append(buffer.data(), got);
  if (errors_.size() > kErrorTextKept) errors_.erase(0, errors_.size() - kErrorTextKept);
  return {};
}

Result<std::string_view> Program::next(Deadline deadline) {
  while (out_) {
    std::array<pollfd, 2> items = waits();
    const int ready = ::poll(items.data(), items.size(), deadline.poll_timeout_ms(now()));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready <= 0) {
      if (deadline.passed(now())) return fail(ErrorCode::kDeadline, name_ + " does not end");
      continue;
    }
    if (items[1].revents != 0) TRY(take_errors());
    if (items[0].revents == 0) continue;
    const std::string_view piece = TRY(take_output());
    if (!piece.empty()) return piece;
  }
  return std::string_view();
}

Result<void> Program::finish(Deadline deadline) {
  while (!TRY(next(deadline)).empty()) {
  }
  // Its errors end with it, unless it has left a child with them: nobody waits for that one.
  const sys::ExitStatus status = TRY(child_.wait(deadline));
  while (err_ && TRY(sys::wait_readable(err_, Deadline::in(milliseconds{0})))) TRY(take_errors());
  if (status.code == 0) return {};
  return fail(status.code == kSetUpFailed ? ErrorCode::kDenied : ErrorCode::kUnavailable,
              name_ + " " + end_of(status) + ": " + last_line(errors_));
}

Result<std::string> run_beside(const ProgramSpec& spec, Deadline deadline) {
  Program program = TRY(Program::start(spec));
  std::string output;
  for (;;) {
    const std::string_view piece = TRY(program.next(deadline));
    if (piece.empty()) break;
    output.append(piece);
    if (output.size() > kStepOutputMax) {
      return fail(ErrorCode::kExhausted, spec.command.front() + " writes too much");
    }
  }
  TRY(program.finish(deadline));
  return output;
}

}  // namespace casemate::image
