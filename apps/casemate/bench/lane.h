// One of the processes that take runs back to back, as many as there are processors.
#pragma once

#include <cstdint>

#include "bench/place.h"
#include "sys/process.h"

namespace casemate::bench {

class Lane {
 public:
  // Forks; the caller has one thread and no engine. The lane has an engine of its own, whose slots are made
  // at once, on this rung. Errors: system.
  static Result<Lane> start(const Place& place, Boxes boxes, const std::vector<Launch>& peers);
  Lane(Lane&&) noexcept = default;
  Lane& operator=(Lane&&) = delete;
  ~Lane();

  // What came of one window.
  struct Window {
    std::uint64_t runs = 0;
    double seconds = 0;  // until everything that the runs took was there again, or gone
    double faults = 0;   // minor faults of the lane and all below it meanwhile
  };
  // Begins a window: of ours, or of the peer with this index.
  Result<void> begin(std::optional<std::size_t> peer, milliseconds window);
  // Errors: internal (a sample was not right), unavailable (the lane has ended).
  Result<Window> wait();

 private:
  Lane(sys::Fd link, sys::Child child) : link_(std::move(link)), child_(std::move(child)) {}

  sys::Fd link_;  // without it the lane ends, and its engine with it
  sys::Child child_;
};

}  // namespace casemate::bench
