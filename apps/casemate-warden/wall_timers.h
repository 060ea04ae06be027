// The timers of parked boxes: BoxParked in frame/warden.h says what they are for. One descriptor stands for
// all of them in the warden's poll, since thousands may be parked and hardly one expires.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate {

class WallTimers {
 public:
  // Watches the timer of this box. It need not be taken out again: one that the engine left set when its box
  // is gone speaks once, for nobody. Errors: system.
  Result<void> watch(std::uint64_t box, const sys::Fd& timer);
  // Readable when one has expired; not open before there is one.
  const sys::Fd& fd() const { return epoll_; }
  // The boxes whose timers have expired since they were last asked for; some of them.
  std::vector<std::uint64_t> expired();

 private:
  sys::Fd epoll_;
};

}  // namespace casemate
