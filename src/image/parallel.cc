#include "image/parallel.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace casemate::image {
namespace {

struct Shared {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;  // guards the two below
  std::size_t first_index = 0;
  std::optional<Error> first;
};

}  // namespace

Result<void> run_parallel(const ParallelOptions& options, Progress& progress,
                          const std::function<Result<std::uint64_t>(std::size_t)>& work) {
  Shared shared;
  const auto loop = [&](bool reports) {
    while (!shared.failed) {
      const std::size_t index = shared.next++;
      if (index >= options.count) return;
      auto weight = work(index);
      if (weight) {
        shared.done += *weight;
        if (reports) progress.advance(shared.done, options.total);
        continue;
      }
      const std::lock_guard lock(shared.mutex);
      if (!shared.first || index < shared.first_index) {
        shared.first = weight.error();
        shared.first_index = index;
      }
      shared.failed = true;
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < options.threads; ++i) helpers.emplace_back(loop, /*reports=*/false);
  loop(/*reports=*/true);
  for (std::thread& helper : helpers) helper.join();
  if (shared.first) return tl::unexpected<Error>(std::move(*shared.first));
  progress.advance(shared.done, options.total);
  return {};
}

}  // namespace casemate::image
