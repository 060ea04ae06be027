#include "bench/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "sys/process.h"

namespace casemate::bench {
namespace {

constexpr std::size_t kOutputMax = 64 << 10;

std::string next_name() {
  static std::atomic<unsigned> count{0};  // names differ within a process, and processes by their pids
  return "casemate-bench-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

Result<std::string> read_all(const sys::Fd& pipe, Deadline deadline) {
  std::string text;
  std::vector<char> buffer(4096);
  for (;;) {
    if (!TRY(sys::wait_readable(pipe, deadline))) return fail(ErrorCode::kDeadline, "it does not end");
    const std::size_t got = TRY(sys::read_some(pipe, buffer));
    if (got == 0) return text;
    if (text.size() < kOutputMax) text.append(buffer.data(), got);
  }
}

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

}  // namespace

Result<Launched> launch(const Launch& what) {
  sys::SpawnOptions spawn;
  spawn.program = what.program;
  spawn.arguments = what.arguments;
  spawn.environment = what.environment;
  if (what.named) spawn.arguments.push_back(next_name());
  // Not a pipe: nobody reads it while the clock runs.
  const sys::Fd err(::memfd_create("stderr", MFD_CLOEXEC));
  if (!err) return fail_errno("memfd_create");
  sys::Pair out = TRY(sys::make_pipe());
  spawn.fds = {-1, out.second.get(), err.get()};
  Launched ended;
  const Instant begun = now();
  const Deadline deadline = Deadline::at(begun + kLaunchTime);
  sys::Child child = TRY(sys::spawn(spawn));
  out.second.reset();
  ended.out = TRY(read_all(out.first, deadline));
  const sys::ExitStatus status = TRY(child.wait(deadline));
  ended.ms = std::chrono::duration<double, std::milli>(now() - begun).count();
  ended.exit_code = status.code ? *status.code : -status.signal.value_or(0);
  if (::lseek(err.get(), 0, SEEK_SET) == 0) {
    std::vector<char> buffer(kOutputMax);
    ended.err.assign(buffer.data(), TRY(sys::read_some(err, buffer)));
  }
  return ended;
}

Result<double> sample_of(const Launch& what, const std::string& expected) {
  const Launched ended = TRY(launch(what));
  if (ended.exit_code == 0 && ended.out == expected) return ended.ms;
  return fail(ErrorCode::kInternal, what.program + ": exit code " + std::to_string(ended.exit_code) +
                                        ", output \"" + first_line(ended.out) + "\" and not \"" +
                                        first_line(expected) + "\"; its errors: " + first_line(ended.err));
}

}  // namespace casemate::bench
