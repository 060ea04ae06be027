// A run that waits for a person: it stands still, with its clocks, until all that it asked is answered.
//
// All together, so that a person sees one picture that does not change while they look at it: what is
// answered first is made, and its answer waits for the box to go on.
#include <sys/timerfd.h>

#include <algorithm>

#include "engine/live_run.h"

namespace casemate::engine {
namespace {

// What the warden gives a box beyond the moment when the last question is denied by itself.
constexpr milliseconds kThawGrace{30'000};

}  // namespace

Result<void> LiveRun::mind_asks() {
  const Instant at = now();
  calls_->expire(at);
  if (!still_since_ && !asked_end_ && !ended_ && calls_->still(at)) return stand_still(at);
  if (still_since_ && calls_->asks() == 0) return go_on(at);
  return {};
}

Result<void> LiveRun::stand_still(Instant at) {
  still_since_ = at;
  if (in_slot_ && !told_) TRY(tell_warden());
  if (in_slot_) {
    const itimerspec never{};
    if (::timerfd_settime(lease_.wall_timer.get(), 0, &never, &timer_left_) < 0)
      return fail_errno("stop the wall clock of the slot");
  }
  const Instant until = calls_->ask_until() ? calls_->ask_until()->instant() : at;
  TRY(warden_.freeze_box(box_, std::chrono::ceil<milliseconds>(until - at) + kThawGrace));
  if (hooks_.on_waiting) hooks_.on_waiting(true);
  return {};
}

Result<void> LiveRun::go_on(Instant at) {
  waited_ += std::chrono::duration_cast<microseconds>(at - *still_since_);
  still_since_.reset();
  if (hooks_.on_waiting) hooks_.on_waiting(false);
  if (ended_) return {};
  // The clock first: the program does not run without it.
  if (in_slot_ && ::timerfd_settime(lease_.wall_timer.get(), 0, &timer_left_, nullptr) < 0)
    return fail_errno("set the wall clock of the slot");
  return warden_.thaw_box(box_);
}

microseconds LiveRun::waited(Instant at) const {
  if (!still_since_) return waited_;
  return waited_ + std::chrono::duration_cast<microseconds>(at - *still_since_);
}

// When something about questions is due, at the latest when the warden is taken for lost.
Instant LiveRun::look_again(Instant lost) const {
  if (!calls_ || calls_->asks() == 0) return lost;
  Instant next = lost;
  if (!still_since_ && calls_->still_from() > now()) next = std::min(next, calls_->still_from());
  if (calls_->ask_until()) next = std::min(next, calls_->ask_until()->instant());
  return next;
}

}  // namespace casemate::engine
