// Random runs that can be had again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/clock.h"

namespace casemate::sim {

// The same numbers from the same seed, with every compiler: so no distribution of the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // 0 to n - 1; n is above 0. A little uneven, which nobody here minds.
  std::size_t below(std::size_t n) { return engine_() % n; }
  std::size_t between(std::size_t least, std::size_t most) { return least + below(most - least + 1); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  milliseconds span(milliseconds least, milliseconds most) {
    return least + milliseconds{static_cast<milliseconds::rep>(
                       below(static_cast<std::size_t>((most - least).count()) + 1))};
  }

 private:
  std::mt19937_64 engine_;
};

// Calls body(random) with the seeds 1 to count and ends at the first that fails, naming it. CASEMATE_SEED in
// the environment is the one seed to run instead.
template <typename Body>
void for_each_seed(std::uint64_t count, Body body) {
  std::uint64_t first = 1;
  if (const char* only = std::getenv("CASEMATE_SEED")) count = first = std::strtoull(only, nullptr, 10);
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(count));
  for (std::uint64_t seed = first; seed <= count; ++seed) {
    SCOPED_TRACE("CASEMATE_SEED=" + std::to_string(seed));
    Random random(seed);
    body(random);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace casemate::sim
