// sustained: runs per second on all processors, everything that they cost included.
#include <algorithm>

#include "bench/lane.h"
#include "bench/place.h"
#include "box/spec.h"

namespace casemate::bench {
namespace {

struct Sum {
  double rate = 0;
  double faults = 0;
  std::uint64_t runs = 0;
};

// One window of all lanes at once. The slowest lane's time counts: nobody's last run is left out.
Result<Sum> window_of(std::vector<Lane>& lanes, std::optional<std::size_t> peer, milliseconds window) {
  for (Lane& lane : lanes) TRY(lane.begin(peer, window));
  Sum sum;
  double seconds = 0;
  for (Lane& lane : lanes) {
    const Lane::Window one = TRY(lane.wait());
    sum.runs += one.runs;
    sum.faults += one.faults;
    seconds = std::max(seconds, one.seconds);
  }
  sum.rate = static_cast<double>(sum.runs) / seconds;
  return sum;
}

}  // namespace

Result<void> measure_sustained(const Place& place, const char* name, Boxes boxes) {
  std::vector<Launch> launches;
  std::vector<Row> rows;
  for (const Peer& peer : place.peers) {
    launches.push_back(TRY(place.room->launch_of(peer, kPrint.text)));
    rows.push_back(
        {name, peer.name, {}, {}, "runs/s", Better::kMore, isolation_of(boxes), peer.isolation, {}, {}});
  }
  std::vector<Lane> lanes;
  const std::uint32_t cpus = box::this_machine().cpus;
  for (std::uint32_t i = 0; i < cpus; ++i) lanes.push_back(TRY(Lane::start(place, boxes, launches)));
  // Long, since the pool has to find out in each anew that there is no time for hot slots.
  const milliseconds window{place.quick ? 800 : 5000};
  const std::size_t rounds = place.quick ? 2 : 5;
  double faults = 0;
  double runs = 0;
  TRY(window_of(lanes, std::nullopt, milliseconds{1}));  // the lanes are ready when they have answered
  for (std::size_t round = 0; round < rounds; ++round) {
    const Sum ours = TRY(window_of(lanes, std::nullopt, window));
    faults += ours.faults;
    runs += static_cast<double>(ours.runs);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].ours.push_back(ours.rate);
      rows[i].theirs.push_back(TRY(window_of(lanes, i, window)).rate);
    }
  }
  for (Row& row : rows) {
    row.ours_faults = faults / runs;
    place.report->rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace casemate::bench
