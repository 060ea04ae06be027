// Our own arm: an engine whose runs take hot slots, each run held against what it must come to.
#pragma once

#include "bench/place.h"

namespace casemate::bench {

inline constexpr milliseconds kPrepareTime{120'000};

engine::Request request_of(const Program& program, Boxes boxes = engine::Isolation::kJail);

class HotSlots {
 public:
  // `hot`: of each class of requests. Errors: exhausted (too few open files for so many), unavailable.
  static Result<HotSlots> start(const Place& place, std::size_t hot);

  // Waits until `hot` slots are ready for such a request. Errors: deadline, unavailable.
  Result<void> ready(const engine::Request& request, std::size_t hot, Deadline deadline);
  // The same of slots that may be warm: what is made when there is no time for hot ones.
  Result<void> any_ready(const engine::Request& request, std::size_t count, Deadline deadline);
  // Waits until nothing is being made.
  Result<void> quiet(Deadline deadline) { return engine_.await_quiet(deadline); }

  struct Ran {
    double ms = 0;      // from the request to the result
    double faults = 0;  // minor faults of the program's process meanwhile
  };
  // One run in a slot, after which its slot was shown to be gone; that is not in the time.
  // Errors: internal (output, end or teardown are not right, or the slot was not as wanted).
  enum class Wanted { kHot, kAny };
  Result<Ran> run(const engine::Request& request, const Program& program, Wanted wanted);

 private:
  HotSlots(engine::Engine engine, engine::Image image)
      : engine_(std::move(engine)), image_(std::move(image)) {}
  engine::Engine engine_;
  engine::Image image_;
};

}  // namespace casemate::bench
