// Programs that the making of an image runs. Private to the image library.
//
// Each has /dev/null as its input and no other descriptor than its outputs, and dies with the thread that
// started it: a build that is killed leaves nobody who writes to its directory.
#pragma once

#include <poll.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace casemate::image {

inline constexpr std::size_t kStepOutputMax = std::size_t{4} << 20;

enum class Place {
  kBeside,  // on this machine, with the directory as its working directory
  kInside,  // the directory is its root; an ordinary user gets there through a user namespace
};

struct ProgramSpec {
  std::vector<std::string> command;  // its first word is a path
  std::vector<std::string> environment;
  const sys::Fd* directory = nullptr;  // lives for the call
  Place place = Place::kBeside;
};

// One that runs. Move-only; killed and reaped when it is destroyed. One thread.
class Program {
 public:
  static Result<Program> start(const ProgramSpec& spec);

  // The next piece of its standard output, which lives until the next call; empty at its end. The last of
  // its standard error is kept meanwhile.
  // Errors: deadline.
  Result<std::string_view> next(Deadline deadline);

  // Passes over what is left of its output and waits for it.
  // Errors: unavailable (a failure; the message has the last line that it wrote to its standard error),
  // denied (it could not be started there: no user namespace, no such program), deadline.
  Result<void> finish(Deadline deadline);

  // For whoever waits for several: what to poll(2), output first, and taking what is there. An output that
  // has ended is -1 from then on; take_output() then gave nothing.
  std::array<pollfd, 2> waits() const;
  Result<std::string_view> take_output();
  Result<void> take_errors();

 private:
  Program() = default;
  std::string name_;
  sys::Child child_;
  sys::Fd out_;
  sys::Fd err_;
  std::vector<char> buffer_;
  std::string errors_;  // the last of them
};

// Runs it to its end. Returns its output. Errors: finish()'s; exhausted (more than kStepOutputMax).
Result<std::string> run_beside(const ProgramSpec& spec, Deadline deadline);

}  // namespace casemate::image
