#include "pool/demand.h"

#include <algorithm>

namespace casemate::pool {

void Demand::asked(Instant now) {
  settle(now);
  last_ = now;
  times_.push_back(now);
  if (times_.size() > max_) times_.pop_front();
  const std::size_t wanted = within_window(now);
  if (wanted < target_) return;
  target_ = std::max(min_, wanted);
  fall_at_ = now + kDemandFall;
}

void Demand::settle(Instant now) {
  while (target_ > min_ && now >= fall_at_) {
    if (within_window(fall_at_) < target_) --target_;
    fall_at_ += kDemandFall;
  }
}

std::optional<Instant> Demand::next_change(Instant now) const {
  std::optional<Instant> next;
  if (target_ > min_) next = fall_at_;
  if (recent(now)) next = std::min(next.value_or(*last_ + kDemandWindow), *last_ + kDemandWindow);
  return next;
}

std::size_t Demand::within_window(Instant at) const {
  const auto first =
      std::find_if(times_.begin(), times_.end(), [&](Instant time) { return at - time < kDemandWindow; });
  return static_cast<std::size_t>(times_.end() - first);
}

}  // namespace casemate::pool
