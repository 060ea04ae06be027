#include "sys/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace casemate::sys {

std::uint64_t raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) < 0) return 0;
  const rlim_t had = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_max : had;
}

ExitStatus exit_status_of(int wait_status) {
  ExitStatus status;
  if (WIFSIGNALED(wait_status)) {
    status.signal = WTERMSIG(wait_status);
  } else {
    status.code = WEXITSTATUS(wait_status);
  }
  return status;
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end_now();
    pidfd_ = std::move(other.pidfd_);
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

void Child::kill() const {
  if (pidfd_) (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);  // ESRCH: dead
}

Result<std::optional<ExitStatus>> Child::poll() {
  siginfo_t info{};
  if (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) <
      0) {
    return fail_errno("waitid");
  }
  if (info.si_pid == 0) return std::optional<ExitStatus>();
  pidfd_.reset();
  ExitStatus status;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
  }
  return std::optional<ExitStatus>(status);
}

Result<ExitStatus> Child::wait(Deadline deadline) {
  if (!TRY(wait_readable(pidfd_, deadline))) return fail(ErrorCode::kDeadline, "the process still runs");
  const std::optional<ExitStatus> status = TRY(poll());
  if (!status) return fail(ErrorCode::kInternal, "a pidfd was readable but its process had not ended");
  return *status;
}

void Child::end_now() {
  if (!pidfd_) return;
  kill();
  siginfo_t info{};
  // SIGKILL cannot be refused; the wait is bounded by the kernel's own work of ending the process.
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED) < 0 &&
         errno == EINTR) {
  }
  pidfd_.reset();
}

namespace {

// Between fork and exec: nothing that allocates or locks. Answers the errno of what failed.
int become_program(const char* program, char* const* arguments, char* const* environment, const int* fds,
                   int count, const char* directory, bool new_session) {
  if (*directory != '\0' && ::chdir(directory) < 0) return errno;
  const int null = ::open("/dev/null", O_RDWR);
  // First above the range that is wanted, so that no dup2 overwrites a descriptor still to be placed.
  int placed[16];
  for (int i = 0; i < count; ++i) {
    placed[i] = ::fcntl(fds[i] >= 0 ? fds[i] : null, F_DUPFD, 32);
    if (placed[i] < 0) return errno;
  }
  for (int i = 0; i < count; ++i) {
    if (::dup2(placed[i], i) < 0) return errno;
  }
  if (::syscall(SYS_close_range, static_cast<unsigned>(count), ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) < 0)
    return errno;
  if (new_session) {
    // To ignore a signal is to drop one that is pending.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) (void)::signal(number, SIG_IGN);
    if (::setsid() < 0) return errno;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) (void)::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::signal(SIGPIPE, SIG_DFL);
  ::execve(program, arguments, environment);
  return errno;
}

}  // namespace

Result<Child> spawn(const SpawnOptions& options) {
  constexpr std::size_t kFdsMax = 16;
  if (options.fds.size() > kFdsMax) return fail(ErrorCode::kInternal, "too many descriptors to spawn with");
  std::vector<int> fds = options.fds;
  while (fds.size() < 3) fds.push_back(-1);
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (const std::string& entry : options.environment)
    environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(nullptr);

  // vfork shares the address space: the child writes its errno here, and the parent runs on only
  // after exec or exit. No page of ours is copied.
  volatile int child_errno = 0;
  const char* program = options.program.c_str();
  const int count = static_cast<int>(fds.size());
  const int* fd_array = fds.data();
  char* const* argument_array = arguments.data();
  char* const* environment_array = environment.data();
  const bool new_session = options.new_session;
  const char* directory = options.directory.c_str();
  const pid_t pid = ::vfork();
  if (pid < 0) return fail_errno("vfork");
  if (pid == 0) {
    child_errno =
        become_program(program, argument_array, environment_array, fd_array, count, directory, new_session);
    ::_exit(127);
  }
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    const int saved = errno;
    (void)::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
    return fail_errno("pidfd_open", saved);
  }
  Child child(std::move(pidfd), pid);
  if (child_errno != 0) {
    if (child_errno == ENOENT) return fail(ErrorCode::kNotFound, "no program at " + options.program);
    return fail_errno("start " + options.program, child_errno);
  }
  return child;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string full = std::string(folder) + "/" + name;
    if (!folder.empty() && ::access(full.c_str(), X_OK) == 0) return full;
  }
  return name;
}

}  // namespace casemate::sys
