// How many hot slots a class shall have: at once as many as it was asked for in the last minute, up to
// its ceiling, and one fewer every few seconds when it is asked for less.
//
// The checkouts of a minute and not a rate times a time to refill: it needs no estimate of either, holds
// for the bursts that one caller's loop makes, and errs towards memory, which the budget bounds anyway.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "base/clock.h"

namespace casemate::pool {

inline constexpr milliseconds kDemandWindow{60'000};
inline constexpr milliseconds kDemandFall{5'000};

class Demand {
 public:
  // min ≤ max ≤ kPoolTargetMax. The target starts at min.
  Demand(std::size_t min, std::size_t max) : min_(min), max_(max), target_(min) {}

  void asked(Instant now);
  // Lowers the target for the time that has passed. Called before target() is read.
  void settle(Instant now);
  std::size_t target() const { return target_; }

  // Was it asked for within the last minute?
  bool recent(Instant now) const { return last_ && now - *last_ < kDemandWindow; }
  std::optional<Instant> last() const { return last_; }
  // When settle() or recent() next gives something else by itself; nothing when they stay as they are.
  std::optional<Instant> next_change(Instant now) const;

 private:
  std::size_t within_window(Instant at) const;

  std::size_t min_, max_;
  std::size_t target_;
  Instant fall_at_{};
  std::optional<Instant> last_;
  std::deque<Instant> times_;  // the last max_ checkouts; more would not raise the target
};

}  // namespace casemate::pool
