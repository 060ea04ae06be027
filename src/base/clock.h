// Time. Deciding code takes an Instant; acting code takes a Deadline; only main() reads a clock
// for them.
#pragma once

#include <algorithm>
#include <chrono>

namespace casemate {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// CLOCK_MONOTONIC, so that a step of the wall clock neither ends nor prolongs a run.
using Instant = std::chrono::steady_clock::time_point;

inline Instant now() { return std::chrono::steady_clock::now(); }

// A point in time after which a wait gives up. Every wait takes one.
class Deadline {
 public:
  static Deadline at(Instant instant) { return Deadline(instant); }
  static Deadline in(milliseconds span) { return Deadline(now() + span); }

  Instant instant() const { return instant_; }
  bool passed(Instant at) const { return at >= instant_; }
  // What is left, rounded up to a whole millisecond, never negative: the form that poll(2) takes.
  // Rounded up so that a wait never returns before its deadline.
  int poll_timeout_ms(Instant at) const {
    if (passed(at)) return 0;
    const auto left = std::chrono::ceil<milliseconds>(instant_ - at).count();
    return static_cast<int>(std::min<decltype(left)>(left, 1 << 30));
  }

 private:
  explicit Deadline(Instant instant) : instant_(instant) {}
  Instant instant_;
};

}  // namespace casemate
