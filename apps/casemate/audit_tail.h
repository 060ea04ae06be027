// `casemate audit tail`.
#pragma once

#include <string>

#include "base/result.h"

namespace casemate {

struct TailOptions {
  std::string directory;
  std::string writer;  // empty: all
  std::size_t lines = 10;
  bool follow = false;  // and go on, until the process is ended or its output is closed
  bool json = false;
};

// Prints to standard output. Errors: not_found, invalid, system.
Result<void> audit_tail(const TailOptions& options);

}  // namespace casemate
