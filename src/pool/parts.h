// What a pool knows of its nests, slots and classes. For the pool's own sources and its tests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "pool/backoff.h"
#include "pool/config.h"
#include "pool/demand.h"
#include "pool/slot.h"

namespace casemate::pool {

enum class NestState {
  kStarting,
  kReady,
  kDraining,  // forks no more; what it forked lives on, and it is ended when nothing of it is left
  kGone,
};
const char* nest_state_name(NestState state);  // "starting", ...

// Names a class, and where requests for it go.
struct ClassId {
  std::string key;
  PreloadSet preload = PreloadSet::kBare;
  auto operator<=>(const ClassId&) const = default;
};
// What one zygote after another is for.
struct LineId {
  std::string image;
  PreloadSet preload = PreloadSet::kBare;
  auto operator<=>(const LineId&) const = default;
};

struct Nest {
  NestId id;
  LineId line;
  NestState state = NestState::kStarting;
  Instant started_at{};
  milliseconds start_max{};
  std::optional<Instant> ready_at;
  Bytes cost;
  // Kept free for the first slot of a nest that has none, so that no nest is started for nothing.
  Bytes reserved;
  std::size_t forks = 0;
  int slot_failures = 0;  // in a row
  bool end_asked = false;
  bool single = false;  // holds one slot at a time (Origin::kShared)
};

struct Slot {
  SlotId id;
  ClassId of;
  Bytes cost;
  Level wanted = Level::kHot;  // what it was made for, and counts as; record.level is what it became
  Level asked = Level::kHot;   // what the engine was asked for: where there is no time, warm in place of hot
  SlotState state = SlotState::kCreating;
  Instant since{};         // when it got into its state
  bool condemned = false;  // to be destroyed as soon as the teardown debt allows; record.death.why says why
  SlotRecord record;

  bool stands_in() const { return wanted == Level::kHot && asked == Level::kWarm; }
  bool parked() const { return state == SlotState::kHot || state == SlotState::kWarm; }
  // Counts for its class's targets.
  bool counts() const { return !condemned && (parked() || state == SlotState::kCreating); }
  // Handed out or being destroyed: counts as teardown debt.
  bool in_debt() const { return state >= SlotState::kLeased && state <= SlotState::kProving; }
};

struct ClassEntry {
  ClassId id() const { return {spec.key, spec.preload}; }
  LineId line() const { return {spec.image, spec.preload}; }

  SlotClass spec;
  Demand demand;
  Backoff backoff;  // of its slots that could not be made
  SlotId last_made;
  std::optional<Instant::duration> hot_took{};  // from asking for its last hot slot until it was ready
  std::optional<Instant> lacked{};              // when somebody last found none
};

}  // namespace casemate::pool
