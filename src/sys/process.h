// Child processes by descriptor: a pidfd cannot come to mean another process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::sys {

// Raises what this process may have open, and its children after it, to its hard limit, which only root can
// raise. How many that is. getrlimit(2), RLIMIT_NOFILE.
std::uint64_t raise_open_files();

// How a process ended: exactly one of the two is set.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
};

ExitStatus exit_status_of(int wait_status);

// A child of ours. Move-only. The destructor kills and reaps a child that still lives, so that no
// path out of a function leaves one behind.
class Child {
 public:
  Child() = default;
  Child(Fd pidfd, int pid) : pidfd_(std::move(pidfd)), pid_(pid) {}
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child() { end_now(); }

  explicit operator bool() const { return static_cast<bool>(pidfd_); }
  const Fd& pidfd() const { return pidfd_; }
  // Only for /proc/PID and kernel control files, while the child is not yet reaped.
  int pid() const { return pid_; }

  // SIGKILL. A child that is already dead is not an error.
  void kill() const;
  // Reaps. Errors: deadline (it still runs), system.
  Result<ExitStatus> wait(Deadline deadline);
  // Reaps if it is dead.
  Result<std::optional<ExitStatus>> poll();

 private:
  void end_now();
  Fd pidfd_;
  int pid_ = -1;
};

struct SpawnOptions {
  std::string program;                 // a path
  std::vector<std::string> arguments;  // argv, the first included
  std::vector<std::string> environment;
  // The child's descriptors 0, 1, 2, 3 … in this order; -1 leaves /dev/null in 0 to 2.
  std::vector<int> fds;
  // In a session of its own, out of reach of a terminal's signals. One that the caller has blocked now
  // (SIGINT, SIGTERM, SIGHUP) cannot reach the program even while it is being started.
  bool new_session = false;
  std::string directory{};  // where it starts; empty: where we are
};

// Starts a program with exactly these descriptors and this environment.
// Errors: not_found (no such program), system.
Result<Child> spawn(const SpawnOptions& options);

// Where a program is: looked for in PATH, unless the name has a slash; the name itself when it is not there.
std::string find_program(const std::string& name);

}  // namespace casemate::sys
