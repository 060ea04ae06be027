#include "bench/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "sys/process.h"

namespace casemate::bench {
namespace {

constexpr std::size_t kOutputMax = 64 << 10;
constexpr milliseconds kRemovalTime{20'000};

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

Result<Launched> launch_as(const Launch& what, std::vector<std::string> arguments, Deadline deadline) {
  sys::SpawnOptions spawn;
  spawn.program = what.program;
  spawn.arguments = std::move(arguments);
  spawn.environment = what.environment;
  // Not a pipe: nobody reads it while the clock runs.
  const sys::Fd err(::memfd_create("stderr", MFD_CLOEXEC));
  if (!err) return fail_errno("memfd_create");
  sys::Pair out = TRY(sys::make_pipe());
  spawn.fds = {-1, out.second.get(), err.get()};
  Launched ended;
  const Instant begun = now();
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

}  // namespace

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

Result<Launched> launch(const Launch& what) {
  if (what.removal.empty()) return launch_as(what, what.arguments, Deadline::in(kLaunchTime));
  const std::string name = next_name();
  const auto with_name = [&](std::vector<std::string> arguments) {
    arguments.push_back(name);
    return arguments;
  };
  auto ended = launch_as(what, with_name(what.arguments), Deadline::in(kLaunchTime));
  // What is left of it would run on, and slow down what is measured next.
  if (!ended || ended->exit_code != 0)
    (void)launch_as(what, with_name(what.removal), Deadline::in(kRemovalTime));  // mostly there is nothing
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
