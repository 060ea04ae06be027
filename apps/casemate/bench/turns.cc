#include "bench/turns.h"

#include <algorithm>

namespace casemate::bench {
namespace {

struct Side {
  Row row;
  std::vector<double> faults;
  Instant::duration spent{};
};

bool goes_on(const Side& side, const Turns& turns) {
  const std::size_t taken = side.row.theirs.size();
  return taken < turns.most && (taken < turns.least || side.spent < turns.each_peer);
}

std::vector<std::size_t> in_order(const std::vector<Side>& sides, const Turns& turns, std::size_t turn) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (goes_on(sides[i], turns)) order.push_back(i);
  }
  if (order.empty()) return order;
  order.push_back(sides.size());  // ours
  const auto first = static_cast<std::ptrdiff_t>(turn % order.size());
  std::rotate(order.begin(), order.begin() + first, order.end());
  return order;
}

}  // namespace

Result<std::vector<Row>> take_turns(const Turns& turns, const Arm& ours, const std::vector<Arm>& peers) {
  std::vector<Side> sides;
  for (const Arm& peer : peers) {
    Side side;
    side.row = {turns.measure,  peer.name,      {}, {}, turns.unit, turns.better,
                ours.isolation, peer.isolation, {}, {}};
    sides.push_back(std::move(side));
  }
  for (std::size_t turn = 0;; ++turn) {
    const std::vector<std::size_t> order = in_order(sides, turns, turn);
    if (order.empty()) break;
    Sample our;
    for (const std::size_t i : order) {
      if (i == peers.size()) {
        our = TRY(ours.take());
        continue;
      }
      const Instant begun = now();
      const Sample their = TRY(peers[i].take());
      if (turn == 0) continue;
      sides[i].spent += now() - begun;
      sides[i].row.theirs.push_back(their.value);
    }
    if (turn == 0) continue;
    for (const std::size_t i : order) {
      if (i == peers.size()) continue;
      sides[i].row.ours.push_back(our.value);
      if (our.faults) sides[i].faults.push_back(*our.faults);
    }
  }
  std::vector<Row> rows;
  for (Side& side : sides) {
    if (!side.faults.empty()) side.row.ours_faults = quantiles_of(side.faults).p50;
    rows.push_back(std::move(side.row));
  }
  return rows;
}

}  // namespace casemate::bench
