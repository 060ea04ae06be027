// Running programs of an image in it while it is being built.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "image/program.h"
#include "sys/fd.h"

namespace casemate::image {

struct InsideSpec {
  // Argument vectors, run side by side; the first word of each is a path in the image.
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> environment;
};

// Runs the commands with `root` as their root directory, /dev/null as their input, and no other
// descriptor than their outputs, and waits for all. An ordinary user does this in a user namespace
// that maps only that user to root. They die with the calling thread.
//
// This is no wall against hostile programs: what runs is what the packages brought, checked.
//
// Returns what each wrote to its standard output. Errors: unavailable (one ended with a failure; the
// message has the last line that it wrote to its standard error), denied (no user namespace), deadline,
// exhausted (more output than kStepOutputMax).
Result<std::vector<std::string>> run_inside(const sys::Fd& root, const InsideSpec& spec, Deadline deadline);

}  // namespace casemate::image
