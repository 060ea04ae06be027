// What `casemate run` shows: the program's output as it comes, and at the end what a person needs; or,
// with --json, one document.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "json/utf8.h"
#include "outcome/capture.h"
#include "outcome/outcome.h"
#include "sys/fd.h"

namespace casemate {

class RunOutput {
 public:
  struct Options {
    bool json = false;
    bool quiet = false;
    bool record = false;  // the box's record, too
  };
  explicit RunOutput(Options options);

  // While output waits for its reader, look at this descriptor, and drop the output once it is readable.
  // Owned by the caller, who outlives this.
  void stop_at(const sys::Fd& cancel) { cancel_ = &cancel; }
  // Output while the program runs: exact bytes, but on a terminal without what could drive it.
  void live(outcome::Stream stream, std::string_view bytes);
  // The end. Answers the exit code.
  int finish(outcome::Outcome outcome);

 private:
  void summary(const outcome::Outcome& outcome) const;

  // One of the two standard descriptors.
  struct Side {
    int fd = -1;
    bool terminal = false;
    json::TextStream text;  // a character may be split over two reads
    json::ControlEscaper escaper{json::CarriageReturn::kPass};
  };

  Options options_;
  const sys::Fd* cancel_ = nullptr;
  std::array<Side, 2> sides_;
};

// A directory name for the products of a run whose caller named none: sortable, unique.
std::string default_out_name();

}  // namespace casemate
