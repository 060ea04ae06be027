// hot_print, hot_gvisor, pandas_job and cold_run: the time of one run.
#include <unistd.h>

#include "bench/hot_slots.h"
#include "bench/place.h"
#include "bench/turns.h"

extern char** environ;

namespace casemate::bench {
namespace {

// As many as the pool keeps at most: when they are there, none is in the making.
const std::size_t kHot = pool::SlotClass{}.hot_max;

Turns turns_of(const Place& place, const char* measure, milliseconds quick_each_peer) {
  Turns turns{measure, "ms", place.samples, 20, milliseconds{60'000}};
  if (place.quick) {
    turns.least = 1;
    turns.each_peer = quick_each_peer;
  }
  return turns;
}

Result<std::vector<Arm>> peer_arms(const Place& place, const Program& program) {
  std::vector<Arm> arms;
  for (const Peer& peer : place.peers) {
    const Launch launch = TRY(place.room->launch_of(peer, program.text));
    arms.push_back({peer.name, peer.isolation, [launch, &program]() -> Result<Sample> {
                      return Sample{TRY(sample_of(launch, program.expected)), {}};
                    }});
  }
  return arms;
}

Result<void> add_rows(const Place& place, const Turns& turns, const Arm& ours, const Program& program) {
  const std::vector<Arm> peers = TRY(peer_arms(place, program));
  for (Row& row : TRY(take_turns(turns, ours, peers))) place.report->rows.push_back(std::move(row));
  return {};
}

Result<void> measure_hot(const Place& place, const Turns& turns, const Program& program,
                         engine::Isolation rung = engine::Isolation::kJail) {
  HotSlots slots = TRY(HotSlots::start(place, kHot));
  const engine::Request request = request_of(program, rung);
  const Arm ours{"casemate", isolation_of(rung), [&]() -> Result<Sample> {
                   const HotSlots::Ran ran = TRY(slots.run(request, program, HotSlots::Wanted::kHot));
                   // All of them, so that nothing is in the making while a peer has its turn.
                   TRY(slots.ready(request, kHot, Deadline::in(kPrepareTime)));
                   return Sample{ran.ms, ran.faults};
                 }};
  TRY(slots.ready(request, kHot, Deadline::in(kPrepareTime)));
  return add_rows(place, turns, ours, program);
}

}  // namespace

Result<void> measure_hot_print(const Place& place) {
  return measure_hot(place, turns_of(place, "hot_print", milliseconds{1000}), kPrint);
}

Result<void> measure_hot_gvisor(const Place& place) {
  if (!can_measure(place, engine::Isolation::kGvisor, "hot_gvisor")) return {};
  return measure_hot(place, turns_of(place, "hot_gvisor", milliseconds{1000}), kPrint,
                     engine::Isolation::kGvisor);
}

Result<void> measure_pandas_job(const Place& place) {
  return measure_hot(place, turns_of(place, "pandas_job", milliseconds{700}), kPandas);
}

Result<void> measure_cold_run(const Place& place) {
  Launch launch;
  launch.program = place.self;
  launch.arguments = {"casemate", "run", "--trust", "trusted", "--quiet", "-c", kPrint.text};
  if (!place.store.empty()) launch.arguments.insert(launch.arguments.end(), {"--store", place.store});
  // Where its runtime directory and images are.
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.emplace_back(*entry);
  const Arm ours{"casemate", kJail, [&]() -> Result<Sample> {
                   return Sample{TRY(sample_of(launch, kPrint.expected)), {}};
                 }};
  return add_rows(place, turns_of(place, "cold_run", milliseconds{800}), ours, kPrint);
}

}  // namespace casemate::bench
