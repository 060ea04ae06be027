// A slot's states, and the records of its birth and its death.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "pool/preload.h"

namespace casemate::pool {

// Counted from 1 in one pool and never given twice. 0 names nothing.
struct SlotId {
  std::uint64_t value = 0;
  auto operator<=>(const SlotId&) const = default;
};
struct NestId {
  std::uint64_t value = 0;
  auto operator<=>(const NestId&) const = default;
};

// How much is done before the checkout. A cold box has no slot: it is made for its request.
enum class Level { kHot, kWarm, kCold };
const char* level_name(Level level);  // "hot", "warm", "cold"

enum class SlotState {
  kCreating,     // asked for; the engine has not said that it is there
  kWarm,         // parked, all its walls up, not rehearsed
  kHot,          // parked and rehearsed
  kLeased,       // handed out; the program is not in yet
  kRunning,      // the program is in
  kTearingDown,  // over, and its destruction is owed
  kProving,      // the engine is ending it and showing that nothing is left
  kDestroyed,    // shown: every row of its death record
  kQuarantined,  // not shown; it is never used again and goes on costing its memory
};
const char* slot_state_name(SlotState state);  // "creating", "tearing_down", ...

// The table. Every state leads down the list or to kQuarantined (from all but kCreating), never back;
// what was neither leased nor parked well goes straight to kTearingDown.
bool may_follow(SlotState from, SlotState to);

enum class RowState { kOff, kOn, kUnavailable };
const char* row_state_name(RowState state);  // "off", "on", "unavailable"

// One line of a record: what was looked at, what was found, and what that shows.
struct Row {
  std::string name;
  RowState state = RowState::kOff;
  std::string proves;
};

// What a slot found when it audited itself.
struct BirthRecord {
  std::string volume;  // the id of its layer: 1 to kVolumeIdMax bytes, never used for another slot
  std::vector<Row> rows;
  // The pool's own times.
  Instant asked_at{};
  std::optional<Instant> ready_at;
};

// What the warden showed when it destroyed a slot (frame::BoxGone).
struct DeathProof {
  RowState init_reaped = RowState::kOff;
  RowState groups_empty = RowState::kOff;
  RowState groups_removed = RowState::kOff;
  RowState layer_released = RowState::kOff;
};
// What was shown of a slot whose nest, a sandbox, goes on without it.
struct CleanProof {
  RowState processes_gone = RowState::kOff;
  RowState mounts_gone = RowState::kOff;
  RowState channels_closed = RowState::kOff;
};
// The same as rows, with what each proves and does not prove.
std::vector<Row> death_rows(const DeathProof& proof);
std::vector<Row> clean_rows(const CleanProof& proof);

struct DeathRecord {
  std::string why;  // why the slot was over: "its run ended", "parked for longer than 5 min", ...
  std::vector<Row> rows;
  SlotState ended_as = SlotState::kDestroyed;  // or kQuarantined
  std::string quarantined_for;                 // the reason, with kQuarantined
  std::optional<Instant> leased_at, over_at, ended_at;
};

struct SlotRecord {
  SlotId slot;
  NestId nest;
  std::string class_key;
  PreloadSet preload = PreloadSet::kBare;
  Level level = Level::kCold;  // what it was when it was ready; cold: it never was
  BirthRecord birth;
  DeathRecord death;
};

// Why a box with such a row in its death record is quarantined.
std::string unproven_reason(const Row& row);

// The first row that is not `on` and not in `waived`, if there is one.
const Row* first_unproven(const std::vector<Row>& rows, const std::vector<std::string>& waived);

}  // namespace casemate::pool
