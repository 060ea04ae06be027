// Decides about slots: which to make, which to hand out, which to destroy.
//
// Pure: it takes what happened and the time, and says what to do. The engine that owns it carries out
// what plan() says and reports back by events. How they go together:
//
//   checkout() or an event, or next_deadline() has come
//     → plan() → the engine does each action → one event for each, whenever it is done
//
// A nest (a zygote and its first process) serves one image with one preload set; a slot is forked from
// it. A nest that is a sandbox (Origin::kShared) holds one slot at a time, and has no other one before that
// one was shown to be gone. A slot is used once. What is true at any time, whatever events come, in any
// order, twice or late:
//   no slot is handed out twice, or before its birth record was accepted, or once its nest is gone;
//   slots and nests together cost no more than the memory budget;
//   no more slots than the teardown debt allows are between checkout and proof;
//   a slot that was handed out ends destroyed with every row of proof, or quarantined.
// An event that does not fit is refused with an error and changes nothing. One thread. `now` never goes back.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "pool/config.h"
#include "pool/parked.h"
#include "pool/parts.h"
#include "pool/slot.h"
#include "pool/volumes.h"

namespace casemate::pool {

// Answered by nest_ready(), nest_failed() or nest_gone().
struct StartNest {
  NestId nest;
  std::string image;
  PreloadSet preload = PreloadSet::kBare;
};
// Answered by slot_ready() or slot_failed().
struct MakeSlot {
  SlotId slot;
  NestId nest;
  std::string class_key;
  PreloadSet preload = PreloadSet::kBare;
  Level level = Level::kHot;  // or kWarm
};
// Ends whatever is left of it. Answered by slot_destroyed() or slot_quarantined(), also for a slot that
// failed to become one or whose nest is gone: its groups and its layer may still be there.
struct DestroySlot {
  SlotId slot;
};
// Answered by nest_gone(). No slot of it is left but quarantined ones.
struct EndNest {
  NestId nest;
};
using Action = std::variant<StartNest, MakeSlot, DestroySlot, EndNest>;

// Why a checkout is cold.
enum class ColdCause {
  kNone,  // it is not
  kPoolStopped,
  kUnknownClass,
  kTeardownDebt,
  kOverBudget,  // the preload set does not fit in the memory budget
  kNestFailed,
  kNoNest,       // not started yet
  kSlotsFailed,  // the last slots of the class could not be made
  kNoSlot,       // all are in use
};
struct Checkout {
  Level level = Level::kCold;
  // With kHot and kWarm:
  SlotId slot;
  NestId nest;
  PreloadSet preload = PreloadSet::kBare;  // of the slot; larger than asked for only by LargerSet::kServe
  // With kCold:
  ColdCause cause = ColdCause::kNone;
  std::string reason;  // one line: "no zygote yet", "the zygote of numpy failed: ...", ...
};

class Pool {
 public:
  // Errors: invalid (check_config).
  static Result<Pool> make(const PoolConfig& config);

  // Makes a class known; from then on plan() keeps its slots. A full table forgets the class that nobody
  // asked for for the longest time, if it has no slots and keeps none.
  // Errors: invalid (check_class, or known already), exhausted (kPoolClassesMax).
  Result<void> add_class(const SlotClass& slot_class);
  bool knows(const std::string& class_key, PreloadSet preload) const {
    return classes_.contains(ClassId{class_key, preload});
  }

  // A hot slot, else a warm one, else cold and why; the slot is leased with the return. The slot that was
  // ready first: so the slots of a draining nest go first and it can end, and none grows too old behind
  // younger ones. Age costs a parked slot nothing; its pages stay its own.
  Checkout checkout(const std::string& class_key, PreloadSet preload, Instant now);

  // A request waits for a slot, hot or not, and there is none: until there are enough again, slots of this
  // class are made without rehearsal, which is quicker. A checkout that finds none says the same.
  void lacks(const std::string& class_key, PreloadSet preload, Instant now);

  // Why waiting for a slot of the class has no point: it does not fit, or its zygote failed twice in
  // a row, which the pool goes on trying all the same. Nothing: it may become one.
  std::optional<std::string> hopeless(const std::string& class_key, PreloadSet preload, Instant now) const;

  // What to do now. A second call without an event in between says nothing new.
  std::vector<Action> plan(Instant now);
  // When time alone gives plan() something to do; nothing: only an event will. Right after plan() it lies
  // in the future. It may be early: plan() then says nothing.
  std::optional<Instant> next_deadline(Instant now) const;

  // Events. Errors of all: invalid (no such nest or slot, or not in a state where this can happen: a
  // duplicate or a late one; to be ignored but for a line in the log).
  Result<void> nest_ready(NestId nest, Instant now);
  // It did not start, and nothing of it is left.
  Result<void> nest_failed(NestId nest, const std::string& reason, Instant now);
  // Its zygote died; its first process and its slots live on. It forks no more.
  Result<void> zygote_died(NestId nest, const std::string& reason, Instant now);
  // A sandbox whose slot did not end cleanly: with the nest nothing is wrong, but it forks no more.
  Result<void> nest_spent(NestId nest);
  // Nothing of it is left, so no process of its slots is either; they are still to be destroyed.
  Result<void> nest_gone(NestId nest, const std::string& reason, Instant now);

  // It parks as hot or warm, and audited itself. One with a row that is not `on` and not waived, or with
  // no rows, is not used but destroyed.
  // Errors: denied (its volume is that of another slot or of a destroyed one; this stops the pool).
  Result<void> slot_ready(SlotId slot, Level level, BirthRecord birth, Instant now);
  // Its guest, which prepares itself, has said that it is at it: the time that it has begins anew.
  Result<void> slot_alive(SlotId slot, Instant now);
  Result<void> slot_failed(SlotId slot, const std::string& reason, Instant now);
  Result<void> slot_running(SlotId slot, Instant now);  // the program is in
  Result<void> slot_ended(SlotId slot, Instant now);    // its run is over, or never began
  // The engine is through with DestroySlot. Yields kDestroyed, or kQuarantined when a row is missing that
  // is not waived.
  Result<SlotState> slot_destroyed(SlotId slot, const DeathProof& proof, Instant now);
  // The same of a slot in a sandbox (Origin::kShared) that goes on, and has the next one then.
  Result<SlotState> slot_cleaned(SlotId slot, const CleanProof& proof, Instant now);
  // In every state after kCreating: something about it cannot be explained.
  Result<void> slot_quarantined(SlotId slot, const std::string& reason, Instant now);

  // No slot is handed out or made any more; what is there is destroyed by plan(). The first reason stays.
  void stop(const std::string& reason);
  const std::optional<std::string>& stopped() const { return stopped_; }
  // Nothing is left but quarantined slots.
  bool empty() const;

  // The record of a slot: of one that is there, or of one of the last kPoolRecordsMax. Null: neither.
  // Valid until the next call that is not const.
  const SlotRecord* record(SlotId slot) const;
  const std::deque<SlotRecord>& ended() const { return ended_; }  // oldest first

  // What is there now, for printing and for tests.
  const std::map<NestId, Nest>& nests() const { return nests_; }
  const std::map<SlotId, Slot>& slots() const { return slots_; }
  const std::map<ClassId, ClassEntry>& classes() const { return classes_; }
  std::size_t lines_known() const { return lines_.size(); }
  Bytes memory_used() const;
  std::size_t teardown_debt() const { return debt_; }
  // Nests that start and slots that are being made.
  std::size_t preparing() const;

 private:
  struct Want;  // a class that lacks slots
  enum class Served;
  struct Room {
    Bytes needed, held;  // held: what stays as long as it is asked for, or for good
    std::size_t nests = 0, quarantined = 0;
  };

  explicit Pool(const PoolConfig& config) : config_(config) {}

  // pool.cc
  Result<Nest*> find_nest(NestId nest);
  Result<Slot*> find_slot(SlotId slot, SlotState to);
  void end_nest(NestId nest);
  void move(Slot& slot, SlotState to, Instant now);
  void condemn(Slot& slot, std::string why);
  void drain(Nest& nest);
  void rotate(Nest& nest);
  void forget_line(const LineId& line);
  void line_failed(const Nest& nest, const std::string& reason, Instant now);
  void slot_lost(Slot& slot, const std::string& reason, Instant now);
  void quarantine(Slot& slot, const std::string& reason, Instant now);
  void end_record(Slot& slot, Instant now);
  Result<SlotState> slot_shown(SlotId slot, std::vector<Row> rows, Instant now);
  Result<void> take_volume(Slot& slot, const std::string& volume);
  bool forget_class();
  Slot* pick(const ClassId& id, Level level, Instant now);
  Checkout cold(ColdCause cause, std::string reason) const;
  Checkout explain_room(const ClassEntry& entry, Instant now) const;
  Checkout explain(const ClassEntry& entry, Instant now) const;

  // pool_shared.cc
  void leave_alone(NestId nest);
  bool counts(const Slot& slot) const;
  bool surplus(const Nest& nest, Instant now) const;
  bool drain_empty(const LineId& except);
  const Nest* serving_nest(const LineId& line) const;
  bool has_nest(const LineId& line) const;
  bool is_further(const Nest& nest) const;

  // pool_plan.cc
  void expire_nests(Instant now);
  milliseconds create_max(const Slot& slot) const;
  void expire_slots(Instant now);
  void shed(Instant now);
  void replace_stand_ins(Instant now);
  bool fill(Instant now, std::vector<Action>& actions);
  void tear_down(Instant now, std::vector<Action>& actions);
  void end_nests(std::vector<Action>& actions);
  std::vector<Want> wants(Instant now) const;
  std::vector<ClassId> lacking(Instant now) const;
  Served serve(const Want& want, Instant now, std::vector<Action>& actions);
  Served start_nest(const ClassEntry& entry, Instant now, std::vector<Action>& actions);
  void make_slot(const Want& want, Nest& nest, Instant now, std::vector<Action>& actions);
  std::size_t hot_target(const ClassEntry& entry, Instant now) const;
  std::size_t warm_target(const ClassEntry& entry, Instant now) const;
  bool behind(const ClassEntry& entry, Instant now) const;
  bool yields(const ClassEntry& entry, Instant now) const;
  Room room_for(const ClassEntry& entry, Instant now) const;
  bool could_fit(const ClassEntry& entry, Instant now) const;
  Bytes committed() const;
  Bytes nest_cost(const ClassEntry& entry) const;
  bool line_recent(const LineId& line, Instant now) const;
  bool has_slots(NestId nest) const;

  PoolConfig config_;
  std::optional<std::string> stopped_;
  std::map<ClassId, ClassEntry> classes_;
  std::map<LineId, Backoff> lines_;
  std::map<NestId, Nest> nests_;  // without those that are gone
  std::map<SlotId, Slot> slots_;  // without those that are destroyed; with the quarantined ones
  Parked parked_;                 // of slots_
  std::size_t debt_ = 0;          // likewise
  std::uint64_t next_nest_ = 1;
  std::uint64_t next_slot_ = 1;
  // While it lasts, classes that nobody asked for lately give their memory to those that are asked for.
  std::optional<Instant> pressed_until_;
  DestroyedVolumes volumes_;
  std::deque<SlotRecord> ended_;
};

}  // namespace casemate::pool
