#include "pool/backoff.h"

#include <algorithm>

#include "base/limits.h"

namespace casemate::pool {

void Backoff::failed(const std::string& reason, Instant now) {
  milliseconds wait = std::min(first_, most_);
  for (int i = 0; i < failures_ && wait < most_; ++i) wait = std::min(wait * 2, most_);
  if (failures_ < 64) ++failures_;
  retry_at_ = now + wait;
  reason_ = reason.substr(0, kPoolReasonMax);
}

void Backoff::succeeded() {
  failures_ = 0;
  reason_.clear();
}

}  // namespace casemate::pool
