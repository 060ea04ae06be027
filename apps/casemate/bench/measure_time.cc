// hot_print, pandas_job, cold_run and restore, on each rung: the time of one run.
#include <unistd.h>

#include <algorithm>

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

Result<void> measure_hot(const Place& place, const Turns& turns, const Program& program, Boxes boxes) {
  HotSlots slots = TRY(HotSlots::start(place, kHot));
  const engine::Request request = request_of(program, boxes);
  const Arm ours{"casemate", isolation_of(boxes), [&]() -> Result<Sample> {
                   const HotSlots::Ran ran = TRY(slots.run(request, program, HotSlots::Wanted::kHot));
                   // All of them, so that nothing is in the making while a peer has its turn.
                   TRY(slots.ready(request, kHot, Deadline::in(kPrepareTime)));
                   return Sample{ran.ms, ran.faults};
                 }};
  TRY(slots.ready(request, kHot, Deadline::in(kPrepareTime)));
  return add_rows(place, turns, ours, program);
}

// What `casemate run` takes from its start to its end, in a box made for it.
Arm cold_arm(const Place& place, Boxes boxes) {
  Launch launch;
  launch.program = place.self;
  launch.arguments = {"casemate", "run",     "--isolation", engine::isolation_name(boxes.rung),
                      "--trust",  "trusted", "--quiet",     "-c",
                      kPrint.text};
  if (!place.store.empty()) launch.arguments.insert(launch.arguments.end(), {"--store", place.store});
  // Where its runtime directory and images are.
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.emplace_back(*entry);
  return {"casemate", isolation_of(boxes), [launch]() -> Result<Sample> {
            return Sample{TRY(sample_of(launch, kPrint.expected)), {}};
          }};
}

}  // namespace

Result<void> measure_hot_print(const Place& place, const char* name, Boxes boxes) {
  return measure_hot(place, turns_of(place, name, milliseconds{1000}), kPrint, boxes);
}

Result<void> measure_pandas_job(const Place& place, const char* name, Boxes boxes) {
  return measure_hot(place, turns_of(place, name, milliseconds{700}), kPandas, boxes);
}

Result<void> measure_cold_run(const Place& place, const char* name, Boxes boxes) {
  return add_rows(place, turns_of(place, name, milliseconds{800}), cold_arm(place, boxes), kPrint);
}

// One slot, made when it is asked for, and the run in it: what a pool that has none takes, once it has a
// template.
Result<void> measure_restore(const Place& place, const char* name, Boxes boxes) {
  HotSlots slots = TRY(HotSlots::start(place, 1));
  const engine::Request request = request_of(kPrint, boxes);
  const Arm ours{"casemate", isolation_of(boxes), [&]() -> Result<Sample> {
                   const Instant begun = now();
                   TRY(slots.ready(request, 1, Deadline::in(kPrepareTime)));
                   (void)TRY(slots.run(request, kPrint, HotSlots::Wanted::kHot));
                   return Sample{std::chrono::duration<double, std::milli>(now() - begun).count(), {}};
                 }};
  Turns turns = turns_of(place, name, milliseconds{6000});
  turns.most = std::min<std::size_t>(turns.most, 20);
  Arm boots = cold_arm(place, boxes);
  boots.name = "cold_boot";
  for (Row& row : TRY(take_turns(turns, ours, {boots}))) place.report->rows.push_back(std::move(row));
  return {};
}

}  // namespace casemate::bench
