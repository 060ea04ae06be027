// Nests that are sandboxes: each holds one slot at a time, and goes on when that one was shown to be gone. So
// a class has as many of them as it keeps slots.
//
//   MakeSlot ─▶ leased, running ─▶ DestroySlot ─▶ slot_cleaned(): the next MakeSlot in the same nest
//                                              └▶ nest_spent(), slot_destroyed(): the nest has ended with it
#include <algorithm>

#include "pool/pool.h"

namespace casemate::pool {

Result<void> Pool::nest_spent(NestId id) {
  Nest* nest = TRY(find_nest(id));
  if (nest->state != NestState::kReady)
    return fail(ErrorCode::kInvalid, std::string("an event does not fit: a nest that is spent is ") +
                                         nest_state_name(nest->state));
  rotate(*nest);
  return {};
}

Result<SlotState> Pool::slot_cleaned(SlotId id, const CleanProof& proof, Instant now) {
  const Slot* slot = TRY(find_slot(id, SlotState::kDestroyed));
  const auto nest = nests_.find(slot->record.nest);
  if (nest == nests_.end() || !nest->second.single)
    return fail(ErrorCode::kInvalid, "an event does not fit: a slot without a sandbox that goes on");
  return slot_shown(id, clean_rows(proof), now);
}

// A sandbox in which something is not shown to be gone is nobody's any more.
void Pool::leave_alone(NestId id) {
  const auto nest = nests_.find(id);
  if (nest != nests_.end() && nest->second.single && nest->second.state == NestState::kReady)
    rotate(nest->second);
}

// Does it count for its class's targets? In a sandbox that goes on another one follows it.
bool Pool::counts(const Slot& slot) const {
  if (slot.counts()) return true;
  const auto nest = nests_.find(slot.record.nest);
  return nest != nests_.end() && nest->second.single && nest->second.state == NestState::kReady &&
         slot.state != SlotState::kQuarantined;
}

// Of an empty nest: is it a sandbox that its class has no slot for?
bool Pool::surplus(const Nest& nest, Instant now) const {
  if (!nest.single) return false;
  const std::vector<ClassId> lack = lacking(now);
  return std::none_of(lack.begin(), lack.end(),
                      [&](const ClassId& id) { return classes_.at(id).line() == nest.line; });
}

// Ends a sandbox that waits for a slot, for want of room for others than its own line. False: there is none.
bool Pool::drain_empty(const LineId& except) {
  for (auto& [id, nest] : nests_) {
    if (!nest.single || nest.state != NestState::kReady || nest.line == except || has_slots(id)) continue;
    rotate(nest);
    return true;
  }
  return false;
}

// The nest of a line that is starting, or that the line's next slot may be in: of sandboxes an empty one.
const Nest* Pool::serving_nest(const LineId& line) const {
  for (const auto& [id, nest] : nests_) {
    if (nest.line != line || nest.state == NestState::kDraining) continue;
    if (!nest.single || !has_slots(id)) return &nest;
  }
  return nullptr;
}

// That is there, or is to be.
bool Pool::has_nest(const LineId& line) const {
  return std::any_of(nests_.begin(), nests_.end(), [&](const auto& item) {
    return item.second.line == line && item.second.state != NestState::kDraining;
  });
}

// A sandbox beside one of its line that serves: what that one forks in little time need not wait for it.
bool Pool::is_further(const Nest& nest) const {
  return nest.single && std::any_of(nests_.begin(), nests_.end(), [&](const auto& item) {
           return item.second.line == nest.line && item.second.state == NestState::kReady;
         });
}

}  // namespace casemate::pool
