#include "pool/pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/duration.h"
#include "base/limits.h"

namespace casemate::pool {
namespace {

// Slots in a row that a nest may fail to make before another one is tried.
constexpr int kSlotFailuresMax = 3;

std::string bounded(std::string text) {
  if (text.size() > kPoolReasonMax) text.resize(kPoolReasonMax);
  return text;
}

tl::unexpected<Error> misplaced(const char* what, std::uint64_t id, const char* state) {
  return fail(ErrorCode::kInvalid,
              std::string("an event does not fit: ") + what + " " + std::to_string(id) + " is " + state);
}

}  // namespace

const char* nest_state_name(NestState state) {
  switch (state) {
    case NestState::kStarting: return "starting";
    case NestState::kReady: return "ready";
    case NestState::kDraining: return "draining";
    case NestState::kGone: return "gone";
  }
  return "?";
}

Result<Pool> Pool::make(const PoolConfig& config) {
  TRY(check_config(config));
  return Pool(config);
}

// ---- Classes

Result<void> Pool::add_class(const SlotClass& slot_class) {
  TRY(check_class(slot_class));
  const Backoff fresh(config_.backoff_min, config_.backoff_max);
  ClassEntry entry{slot_class, Demand(slot_class.hot_min, slot_class.hot_max), fresh, {}};
  if (classes_.contains(entry.id())) return fail(ErrorCode::kInvalid, "this class of slots is known already");
  if (classes_.size() >= kPoolClassesMax && !forget_class()) {
    return fail(ErrorCode::kExhausted, "the pool knows as many classes of slots as it can");
  }
  lines_.emplace(entry.line(), fresh);
  classes_.emplace(entry.id(), std::move(entry));
  return {};
}

bool Pool::forget_class() {
  auto oldest = classes_.end();
  for (auto at = classes_.begin(); at != classes_.end(); ++at) {
    const auto& [id, entry] = *at;
    if (entry.spec.hot_min > 0 || entry.spec.warm > 0) continue;
    const auto of_class = [&](const auto& item) { return item.second.of == at->first; };
    if (std::any_of(slots_.begin(), slots_.end(), of_class)) continue;
    if (oldest == classes_.end() || entry.demand.last() < oldest->second.demand.last()) oldest = at;
  }
  if (oldest == classes_.end()) return false;
  const LineId line = oldest->second.line();
  classes_.erase(oldest);
  forget_line(line);
  return true;
}

void Pool::forget_line(const LineId& line) {
  const auto of_class = [&](const auto& item) { return item.second.line() == line; };
  const auto of_nest = [&](const auto& item) { return item.second.line == line; };
  if (std::any_of(classes_.begin(), classes_.end(), of_class)) return;
  if (std::any_of(nests_.begin(), nests_.end(), of_nest)) return;
  lines_.erase(line);
}

// ---- Checkout

Checkout Pool::checkout(const std::string& class_key, PreloadSet preload, Instant now) {
  if (stopped_) return cold(ColdCause::kPoolStopped, "pool stopped: " + *stopped_);
  const auto asked = classes_.find(ClassId{class_key, preload});
  if (asked == classes_.end()) return cold(ColdCause::kUnknownClass, "no slots are kept for this class");
  asked->second.demand.asked(now);
  if (const std::size_t debt = teardown_debt(); debt >= config_.teardown_debt_max) {
    return cold(ColdCause::kTeardownDebt,
                "teardown debt: " + std::to_string(debt) + " slots are in use or not proved destroyed yet");
  }
  for (const Level level : {Level::kHot, Level::kWarm}) {
    for (const PreloadSet set : kPreloadSets) {
      if (set < preload || (set != preload && config_.larger_set == LargerSet::kRefuse)) continue;
      Slot* slot = pick(ClassId{class_key, set}, level, now);
      if (slot == nullptr) continue;
      move(*slot, SlotState::kLeased, now);
      slot->record.death.leased_at = now;
      return {level, slot->id, slot->record.nest, set, ColdCause::kNone, {}};
    }
  }
  asked->second.lacked = now;
  return explain(asked->second, now);
}

Slot* Pool::pick(const ClassId& id, Level level, Instant now) {
  for (const auto& [ready_at, slot_id] : parked_.of(id, level)) {
    Slot& slot = slots_.at(slot_id);
    // plan() destroys what is too old, but may not have been called for a while.
    if (!slot.condemned && now - ready_at < config_.slot_age_max) return &slot;
  }
  return nullptr;
}

Checkout Pool::cold(ColdCause cause, std::string reason) const {
  Checkout checkout;
  checkout.cause = cause;
  checkout.reason = bounded(std::move(reason));
  return checkout;
}

// ---- Events of nests

Result<Nest*> Pool::find_nest(NestId nest) {
  const auto found = nests_.find(nest);
  if (found == nests_.end()) return misplaced("nest", nest.value, "not there");
  return &found->second;
}

Result<void> Pool::nest_ready(NestId id, Instant now) {
  Nest* nest = TRY(find_nest(id));
  if (nest->state != NestState::kStarting) return misplaced("nest", id.value, nest_state_name(nest->state));
  nest->state = NestState::kReady;
  nest->ready_at = now;
  return {};
}

Result<void> Pool::nest_failed(NestId id, const std::string& reason, Instant now) {
  Nest* nest = TRY(find_nest(id));
  // One that was given up for being slow may say so late; that it is gone is still news.
  if (nest->ready_at) return misplaced("nest", id.value, nest_state_name(nest->state));
  if (nest->state == NestState::kStarting) line_failed(*nest, reason, now);
  end_nest(id);
  return {};
}

Result<void> Pool::zygote_died(NestId id, const std::string& reason, Instant now) {
  Nest* nest = TRY(find_nest(id));
  if (nest->state != NestState::kReady) return misplaced("nest", id.value, nest_state_name(nest->state));
  line_failed(*nest, reason, now);
  drain(*nest);
  return {};
}

Result<void> Pool::nest_gone(NestId id, const std::string& reason, Instant now) {
  Nest* nest = TRY(find_nest(id));
  if (nest->state != NestState::kDraining) line_failed(*nest, reason, now);
  for (auto& [slot_id, slot] : slots_) {
    // One that is leased or running has lost its processes too; that its run is over, its engine says.
    if (slot.record.nest == id && slot.counts()) condemn(slot, "its nest is gone: " + reason);
  }
  end_nest(id);
  return {};
}

void Pool::end_nest(NestId id) {
  const LineId line = nests_.at(id).line;
  nests_.erase(id);
  forget_line(line);
}

void Pool::drain(Nest& nest) { nest.state = NestState::kDraining; }

// Drains a nest with which nothing is wrong.
void Pool::rotate(Nest& nest) {
  lines_.at(nest.line).succeeded();
  drain(nest);
}

void Pool::line_failed(const Nest& nest, const std::string& reason, Instant now) {
  Backoff& backoff = lines_.at(nest.line);
  // One that served for long enough did not fail to start.
  if (nest.ready_at && now - *nest.ready_at >= config_.backoff_max) backoff.succeeded();
  backoff.failed(reason.empty() ? "for an unknown reason" : reason, now);
}

// ---- Events of slots

Result<Slot*> Pool::find_slot(SlotId id, SlotState to) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return misplaced("slot", id.value, "not there");
  Slot& slot = found->second;
  if (!may_follow(slot.state, to)) return misplaced("slot", id.value, slot_state_name(slot.state));
  return &slot;
}

Result<void> Pool::slot_ready(SlotId id, Level level, BirthRecord birth, Instant now) {
  if (level == Level::kCold) return fail(ErrorCode::kInvalid, "a slot that is ready is hot or warm");
  const SlotState to = level == Level::kHot ? SlotState::kHot : SlotState::kWarm;
  Slot* slot = TRY(find_slot(id, to));
  TRY(take_volume(*slot, birth.volume));
  if (slot->condemned) return misplaced("slot", id.value, "to be destroyed");
  if (birth.rows.empty() || birth.rows.size() > kPoolRowsMax) {
    slot_lost(*slot, "its audit has no rows, or too many", now);
    return {};
  }
  BirthRecord& kept = slot->record.birth;
  kept.rows = std::move(birth.rows);
  if (const Row* row = first_unproven(kept.rows, classes_.at(slot->of).spec.waived)) {
    slot_lost(*slot, "its audit says: " + row->name + " is " + row_state_name(row->state), now);
    return {};
  }
  if (!kept.ready_at) kept.ready_at = now;
  slot->record.level = level;
  move(*slot, to, now);
  ClassEntry& entry = classes_.at(slot->of);
  entry.backoff.succeeded();
  if (level == Level::kHot) entry.hot_took = *kept.ready_at - kept.asked_at;
  if (const auto nest = nests_.find(slot->record.nest); nest != nests_.end()) nest->second.slot_failures = 0;
  return {};
}

Result<void> Pool::take_volume(Slot& slot, const std::string& volume) {
  std::string& known = slot.record.birth.volume;
  if (volume.empty() || volume.size() > kVolumeIdMax || (!known.empty() && known != volume)) {
    return fail(ErrorCode::kInvalid,
                "slot " + std::to_string(slot.id.value) + " came without its volume's id");
  }
  if (known == volume) return {};
  const auto has_it = [&](const auto& item) { return item.second.record.birth.volume == volume; };
  if (volumes_.holds(volume) || std::any_of(slots_.begin(), slots_.end(), has_it)) {
    const std::string reason =
        "slot " + std::to_string(slot.id.value) + " has the volume " + volume + ", which was another slot's";
    if (!slot.condemned) condemn(slot, reason);
    stop(reason);
    return fail(ErrorCode::kDenied, reason);
  }
  known = volume;
  return {};
}

Result<void> Pool::slot_alive(SlotId id, Instant now) {
  Slot* slot = TRY(find_slot(id, SlotState::kTearingDown));
  if (slot->state != SlotState::kCreating) return misplaced("slot", id.value, slot_state_name(slot->state));
  slot->since = now;
  return {};
}

Result<void> Pool::slot_failed(SlotId id, const std::string& reason, Instant now) {
  Slot* slot = TRY(find_slot(id, SlotState::kTearingDown));
  if (slot->state != SlotState::kCreating) return misplaced("slot", id.value, slot_state_name(slot->state));
  if (slot->condemned) return misplaced("slot", id.value, "to be destroyed");
  slot_lost(*slot, reason, now);
  return {};
}

// A slot that came to nothing before it was handed out: its class and its nest take note.
void Pool::slot_lost(Slot& slot, const std::string& reason, Instant now) {
  const std::string said = reason.empty() ? "for an unknown reason" : reason;
  condemn(slot, said);
  classes_.at(slot.of).backoff.failed(said, now);
  const auto found = nests_.find(slot.record.nest);
  if (found == nests_.end() || found->second.state != NestState::kReady) return;
  Nest& nest = found->second;
  // Where slots are forked from nothing each of them starts what a nest would have started.
  const bool alone = classes_.at(slot.of).spec.origin == Origin::kAlone || nest.single;
  if (++nest.slot_failures < kSlotFailuresMax && !alone) return;
  line_failed(nest, alone ? said : "it made no slot " + std::to_string(kSlotFailuresMax) + " times: " + said,
              now);
  drain(nest);
}

Result<void> Pool::slot_running(SlotId id, Instant now) {
  Slot* slot = TRY(find_slot(id, SlotState::kRunning));
  move(*slot, SlotState::kRunning, now);
  return {};
}

Result<void> Pool::slot_ended(SlotId id, Instant now) {
  Slot* slot = TRY(find_slot(id, SlotState::kTearingDown));
  if (slot->state == SlotState::kCreating) return misplaced("slot", id.value, "creating");
  if (!slot->parked()) {
    slot->record.death.why = slot->state == SlotState::kRunning ? "its run is over" : "its run did not begin";
    slot->record.death.over_at = now;
    move(*slot, SlotState::kTearingDown, now);
    return {};
  }
  if (slot->condemned) return misplaced("slot", id.value, "to be destroyed");
  // Not torn down at once: the debt may not have room for it.
  slot_lost(*slot, "it ended while it was parked", now);
  return {};
}

Result<SlotState> Pool::slot_destroyed(SlotId id, const DeathProof& proof, Instant now) {
  const Slot* slot = TRY(find_slot(id, SlotState::kDestroyed));
  leave_alone(slot->record.nest);  // of a sandbox: what was shown to be gone is all of it
  return slot_shown(id, death_rows(proof), now);
}

Result<SlotState> Pool::slot_shown(SlotId id, std::vector<Row> rows, Instant now) {
  Slot* slot = TRY(find_slot(id, SlotState::kDestroyed));
  DeathRecord& death = slot->record.death;
  death.rows = std::move(rows);
  if (const Row* row = first_unproven(death.rows, classes_.at(slot->of).spec.waived)) {
    quarantine(*slot, unproven_reason(*row), now);
    return SlotState::kQuarantined;
  }
  move(*slot, SlotState::kDestroyed, now);
  if (!slot->record.birth.volume.empty()) volumes_.add(slot->record.birth.volume);
  end_record(*slot, now);
  slots_.erase(id);
  return SlotState::kDestroyed;
}

Result<void> Pool::slot_quarantined(SlotId id, const std::string& reason, Instant now) {
  Slot* slot = TRY(find_slot(id, SlotState::kQuarantined));
  quarantine(*slot, reason, now);
  return {};
}

void Pool::quarantine(Slot& slot, const std::string& reason, Instant now) {
  move(slot, SlotState::kQuarantined, now);
  leave_alone(slot.record.nest);
  slot.record.death.quarantined_for = bounded(reason);
  end_record(slot, now);
  const auto is = [](const auto& item) { return item.second.state == SlotState::kQuarantined; };
  const auto count = static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), is));
  if (count > config_.quarantined_max) {
    stop(std::to_string(count) + " slots are in quarantine, the last because " + reason);
  }
}

void Pool::move(Slot& slot, SlotState to, Instant now) {
  CHECK(may_follow(slot.state, to));
  if (slot.parked()) parked_.take(slot);
  if (slot.in_debt()) --debt_;
  slot.state = to;
  slot.since = now;
  if (slot.parked()) parked_.put(slot);
  if (slot.in_debt()) ++debt_;
}

void Pool::condemn(Slot& slot, std::string why) {
  slot.condemned = true;
  slot.record.death.why = bounded(std::move(why));
}

void Pool::end_record(Slot& slot, Instant now) {
  slot.record.death.ended_as = slot.state;
  slot.record.death.ended_at = now;
  ended_.push_back(slot.record);
  if (ended_.size() > kPoolRecordsMax) ended_.pop_front();
}

// ---- The whole

void Pool::stop(const std::string& reason) {
  if (!stopped_) stopped_ = bounded(reason);
}

bool Pool::empty() const {
  const auto is = [](const auto& item) { return item.second.state == SlotState::kQuarantined; };
  return nests_.empty() && std::all_of(slots_.begin(), slots_.end(), is);
}

const SlotRecord* Pool::record(SlotId id) const {
  if (const auto slot = slots_.find(id); slot != slots_.end()) return &slot->second.record;
  const auto is = [&](const SlotRecord& record) { return record.slot == id; };
  const auto found = std::find_if(ended_.rbegin(), ended_.rend(), is);
  return found == ended_.rend() ? nullptr : &*found;
}

}  // namespace casemate::pool
