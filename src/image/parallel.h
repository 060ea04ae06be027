// The same work on many things, on a few threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "image/progress.h"

namespace casemate::image {

struct ParallelOptions {
  std::size_t count = 0;
  unsigned threads = 1;     // the caller's among them
  std::uint64_t total = 0;  // what the weights will add up to
};

// Calls `work(i)` for every i below count, in no order, until one fails; it returns its weight.
// `progress` hears of the sum, from the caller's thread alone. Returns when no thread is left.
// Errors: the failure with the lowest i of those that happened.
Result<void> run_parallel(const ParallelOptions& options, Progress& progress,
                          const std::function<Result<std::uint64_t>(std::size_t)>& work);

}  // namespace casemate::image
