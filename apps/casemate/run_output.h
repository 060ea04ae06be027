// What `casemate run` shows: the program's output as it comes, and at the end what a person needs; or,
// with --json, one document.
#pragma once

#include <string>
#include <string_view>

#include "outcome/capture.h"
#include "outcome/outcome.h"

namespace casemate {

class RunOutput {
 public:
  struct Options {
    bool json = false;
    bool quiet = false;
  };
  explicit RunOutput(Options options);

  // Output while the program runs: exact bytes, but on a terminal without what could drive it.
  void live(outcome::Stream stream, std::string_view bytes) const;
  // The end. Answers the exit code.
  int finish(const outcome::Outcome& outcome) const;

 private:
  void summary(const outcome::Outcome& outcome) const;

  Options options_;
  bool stdout_terminal_ = false;
  bool stderr_terminal_ = false;
};

// A directory name for the products of a run whose caller named none: sortable, unique.
std::string default_out_name();

}  // namespace casemate
