// Two arms that take turns in one process on one machine, so that what disturbs one disturbs the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "bench/report.h"

namespace casemate::bench {

struct Sample {
  double value = 0;
  std::optional<double> faults;
};

struct Arm {
  std::string name, isolation;
  std::function<Result<Sample>()> take;
};

struct Turns {
  std::string measure, unit;
  std::size_t most = 0;            // turns
  std::size_t least = 0;           // of each peer, whatever time it takes
  milliseconds each_peer{60'000};  // beyond it a peer takes no more turns
  Better better = Better::kLess;   // a rate: kMore
};

// One row for each peer, with the samples of ours that were taken in its turns. A first turn warms caches and
// is not counted; who begins goes round. Errors: those of the arms.
Result<std::vector<Row>> take_turns(const Turns& turns, const Arm& ours, const std::vector<Arm>& peers);

}  // namespace casemate::bench
