// One sample of a peer: a process from its start to its end, with what it printed held against what it must
// print. What fails looks fast, so nothing that is not right is ever timed.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace casemate::bench {

struct Launch {
  std::string program;                 // a path
  std::vector<std::string> arguments;  // argv, the first included
  std::vector<std::string> environment;
  // Not empty: the run is of a container, whose name is added as the last argument and is nobody else's
  // meanwhile. With these arguments, and the name, the program removes what a failed run left of it.
  std::vector<std::string> removal;
};

inline constexpr milliseconds kLaunchTime{60'000};

// What a process printed and how it ended, whatever that was.
struct Launched {
  std::string out, err;  // of each at most 64 KiB
  int exit_code = 0;     // negative: the signal that ended it
  double ms = 0;         // from just before its start until its end was collected
};
// Errors: not_found (no such program), deadline (it was killed after kLaunchTime), system.
Result<Launched> launch(const Launch& what);

// Without its end.
std::string first_line(const std::string& text);

// Milliseconds of one right sample.
// Errors: internal (exit code or output are not right: what they were), those of launch().
Result<double> sample_of(const Launch& what, const std::string& expected);

}  // namespace casemate::bench
