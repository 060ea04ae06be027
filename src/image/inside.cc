#include "image/inside.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "sys/process.h"

namespace casemate::image {
namespace {

constexpr int kSetUpFailed = 125;
constexpr std::size_t kErrorTextKept = 4096;

// All that the child needs, made before the fork as plain pointers.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::string uid_map;  // empty: already root, no user namespace
  std::string gid_map;
  int root = -1;
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
  if (::fchdir(prepared.root) < 0 || ::chroot(".") < 0) die("cannot enter the image\n");
  ::umask(022);
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) < 0) die("close_range\n");
  ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  die("cannot execute the program\n");
}

struct Running {
  sys::Child child;
  sys::Fd out;
  sys::Fd err;
  std::string output;
  std::string errors;  // the last of it
};

Result<Running> start(const sys::Fd& root, const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  const sys::Fd null = TRY(sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  Prepared prepared{pointers(command), pointers(environment), "",        "", root.get(), null.get(),
                    out.second.get(),  err.second.get(),      ::getpid()};
  if (::geteuid() != 0) {
    prepared.uid_map = "0 " + std::to_string(::geteuid()) + " 1";
    prepared.gid_map = "0 " + std::to_string(::getegid()) + " 1";
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) become(prepared);
  // Not yet reaped by anybody, so the pid is still this child's.
  sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return fail_errno("pidfd_open");
  return Running{sys::Child(std::move(pidfd), pid), std::move(out.first), std::move(err.first), "", ""};
}

// Takes what is there from one pipe; closes it at its end.
Result<void> drain(sys::Fd& fd, std::string& into, std::size_t most, bool keep_last) {
  std::array<char, 16384> buffer{};
  const std::size_t got = TRY(sys::read_some(fd, buffer));
  if (got == 0) {
    fd.reset();
    return {};
  }
  into.append(buffer.data(), got);
  if (into.size() <= most) return {};
  if (!keep_last) return fail(ErrorCode::kExhausted, "a step of the build writes too much");
  into.erase(0, into.size() - most);
  return {};
}

Result<void> drain_all(std::vector<Running>& all, Deadline deadline) {
  for (;;) {
    std::vector<pollfd> items;
    for (const Running& running : all) {
      for (const sys::Fd* fd : {&running.out, &running.err}) items.push_back({fd->get(), POLLIN, 0});
    }
    bool open = false;
    for (const pollfd& item : items) open = open || item.fd >= 0;  // poll(2) passes over -1
    if (!open) return {};
    const int ready = ::poll(items.data(), items.size(), deadline.poll_timeout_ms(now()));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready <= 0) {
      if (deadline.passed(now())) return fail(ErrorCode::kDeadline, "a step of the build does not end");
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (items[2 * i].revents != 0)
        TRY(drain(all[i].out, all[i].output, kStepOutputMax, /*keep_last=*/false));
      if (items[2 * i + 1].revents != 0) {
        TRY(drain(all[i].err, all[i].errors, kErrorTextKept, /*keep_last=*/true));
      }
    }
  }
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

Result<std::vector<std::string>> run_inside(const sys::Fd& root, const InsideSpec& spec, Deadline deadline) {
  std::vector<Running> all;
  for (const auto& command : spec.commands) all.push_back(TRY(start(root, command, spec.environment)));
  TRY(drain_all(all, deadline));
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const sys::ExitStatus status = TRY(all[i].child.wait(deadline));
    if (status.code != 0) {
      return fail(status.code == kSetUpFailed ? ErrorCode::kDenied : ErrorCode::kUnavailable,
                  spec.commands[i][0] + " " + end_of(status) + ": " + last_line(all[i].errors));
    }
    outputs.push_back(std::move(all[i].output));
  }
  return outputs;
}

}  // namespace casemate::image
