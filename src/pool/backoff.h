// When to try again what failed: after a wait that doubles with each failure, up to a bound.
#pragma once

#include <string>

#include "base/clock.h"

namespace casemate::pool {

class Backoff {
 public:
  Backoff(milliseconds first, milliseconds most) : first_(first), most_(most) {}

  // Keeps at most kPoolReasonMax bytes of the reason.
  void failed(const std::string& reason, Instant now);
  void succeeded();

  bool waiting(Instant now) const { return failures_ > 0 && now < retry_at_; }
  // The reason of the last failure; empty after a success.
  const std::string& reason() const { return reason_; }
  int failures() const { return failures_; }
  Instant retry_at() const { return retry_at_; }

 private:
  milliseconds first_, most_;
  int failures_ = 0;  // no longer counted once the wait is at its bound
  Instant retry_at_{};
  std::string reason_;
};

}  // namespace casemate::pool
