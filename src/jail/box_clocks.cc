// The clocks of a box: when it has to be looked at, what ends it, and how they stand still with it.
#include <algorithm>

#include "jail/box.h"
#include "jail/box_plan.h"

namespace casemate::jail {
namespace {

using frame::EndCause;
using frame::wall_bit;

// CPU time is read at most this often and at least when it could first have been used up.
constexpr milliseconds kCpuCheckFloor{10};

}  // namespace

std::optional<Instant> Box::next_deadline() const {
  if (dead_ || cause_) return std::nullopt;  // a killed box ends by itself: its pidfd tells
  if (!running_) return guest_parked_ ? std::nullopt : std::optional(made_at_ + make_time());
  if (frozen_at_) return frozen_until_;
  return std::min(wall_end(), next_cpu_check_);
}

bool Box::wall_clock_on() const { return !kTestBuild || (spec_.walls_off & wall_bit(Wall::kWallClock)) == 0; }

Instant Box::wall_end() const {
  return wall_clock_on() ? started_at_ + milliseconds(spec_.wall_max_ms) : Instant::max();
}

void Box::check_limits(Instant at) {
  if (dead_ || cause_ || ended_.has_status != 0) return;
  if (!running_) {
    if (!guest_parked_ && at >= made_at_ + make_time()) fail_making(Stage::kFork, ETIMEDOUT);
    return;
  }
  if (frozen_at_) {
    if (at >= frozen_until_) end(EndCause::kWall);
    return;
  }
  if (at >= wall_end()) return end(EndCause::kWall);
  if (oom_seen_ && cell_.groups.oom_kills() > 0) return end(EndCause::kMemory);
  if (at >= next_cpu_check_) {
    const bool test_keeps_cpu = kTestBuild && (spec_.walls_off & wall_bit(Wall::kCpuTime)) != 0;
    const std::uint64_t used_us = cpu_us();
    const std::uint64_t most_us = spec_.cpu_time_max_ms * 1000;
    if (used_us >= most_us && !test_keeps_cpu) return end(EndCause::kCpuTime);
    // The earliest moment at which the rest can have been used, all processors busy.
    const std::uint64_t left_us =
        used_us >= most_us ? 1'000'000 : (most_us - used_us) * 1000 / std::max(spec_.cpus_milli, 1U);
    next_cpu_check_ =
        at + std::max<std::chrono::microseconds>(std::chrono::microseconds(left_us), kCpuCheckFloor);
    if (oom_seen_) next_cpu_check_ = at + kCpuCheckFloor;
  }
}

bool Box::freeze(Instant at, milliseconds most) {
  if (dead_ || cause_ || !running_) return false;
  if (!frozen_at_) frozen_at_ = at;
  frozen_until_ = at + most;
  return cell_.groups.freeze(true).has_value();
}

void Box::thaw(Instant at) {
  if (!frozen_at_) return;
  started_at_ += at - *frozen_at_;
  next_cpu_check_ += at - *frozen_at_;
  frozen_at_.reset();
  (void)cell_.groups.freeze(false);
}

}  // namespace casemate::jail
