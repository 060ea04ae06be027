// Slots that are not there: who says so, and whether they will be.
#include <algorithm>
#include <set>

#include "pool/pool.h"

namespace casemate::pool {
namespace {

// One failure may be the host's, of a moment. A second one after a pause is the image's.
constexpr int kHopelessFailures = 2;

}  // namespace

std::optional<std::string> Pool::hopeless(const std::string& class_key, PreloadSet preload,
                                          Instant now) const {
  if (stopped_) return "pool stopped: " + *stopped_;
  const auto asked = classes_.find(ClassId{class_key, preload});
  if (asked == classes_.end()) return "no slots are kept for this class";
  const ClassEntry& entry = asked->second;
  if (!could_fit(entry, now)) return explain_room(entry, now).reason;
  // Slots that fail again and again end their nest, which then counts as one failure of its zygote.
  if (lines_.at(entry.line()).failures() < kHopelessFailures) return std::nullopt;
  return explain(entry, now).reason;
}

Checkout Pool::explain_room(const ClassEntry& entry, Instant now) const {
  const Room room = room_for(entry, now);
  if (room.needed.count + room.held.count > config_.memory_budget.count) {
    std::string reason = std::string("preload set over the memory budget: ") +
                         preload_name(entry.spec.preload) + " with one slot takes " +
                         format_bytes(room.needed) + " of " + format_bytes(config_.memory_budget);
    if (room.held.count > 0) reason += ", and others hold " + format_bytes(room.held);
    return cold(ColdCause::kOverBudget, std::move(reason));
  }
  if (room.quarantined >= config_.slots_max) {
    return cold(ColdCause::kNoSlot, "all " + std::to_string(room.quarantined) + " slots are in quarantine");
  }
  return cold(ColdCause::kNoNest,
              "no zygote yet: " + std::to_string(room.nests) + " are in use, and no more may be");
}

Checkout Pool::explain(const ClassEntry& entry, Instant now) const {
  const std::string set = preload_name(entry.spec.preload);
  if (!could_fit(entry, now)) return explain_room(entry, now);
  const auto serves = [&](const auto& item) {
    return item.second.line == entry.line() && item.second.state == NestState::kReady;
  };
  if (std::none_of(nests_.begin(), nests_.end(), serves)) {
    const std::string& reason = lines_.at(entry.line()).reason();
    if (reason.empty()) return cold(ColdCause::kNoNest, "no zygote yet");
    return cold(ColdCause::kNestFailed, "the zygote of " + set + " failed: " + reason);
  }
  if (!entry.backoff.reason().empty()) {
    return cold(ColdCause::kSlotsFailed, "the last slot could not be made: " + entry.backoff.reason());
  }
  return cold(ColdCause::kNoSlot, "no slot is ready");
}

// What stands in the way of a nest and a slot of this class for good: the nests of the others that are
// asked for, and what is in quarantine. What else is there ends when it was used, or yields.
Pool::Room Pool::room_for(const ClassEntry& entry, Instant now) const {
  const LineId line = entry.line();
  Room room;
  // A nest is not started where no slot would be left for one of the others. One that is there already
  // shares what there is.
  const bool starts = !has_nest(line);
  room.needed.count = nest_cost(entry).count + entry.spec.slot_cost.count;
  std::set<LineId> sandboxes;
  for (const auto& [id, nest] : nests_) {
    if (nest.state == NestState::kDraining || nest.line == line || !line_recent(nest.line, now)) continue;
    if (nest.single && !sandboxes.insert(nest.line).second) continue;  // beyond the first they give way
    room.held.count += nest.cost.count + (starts ? nest.reserved.count : 0);
    ++room.nests;
  }
  for (const auto& [id, slot] : slots_) {
    if (slot.state != SlotState::kQuarantined) continue;
    room.held.count += slot.cost.count;
    ++room.quarantined;
  }
  return room;
}

// If not, it would wait for ever, and others behind it.
bool Pool::could_fit(const ClassEntry& entry, Instant now) const {
  const Room room = room_for(entry, now);
  return room.needed.count + room.held.count <= config_.memory_budget.count &&
         room.nests < config_.nests_max && room.quarantined < config_.slots_max;
}

bool Pool::line_recent(const LineId& line, Instant now) const {
  return std::any_of(classes_.begin(), classes_.end(), [&](const auto& item) {
    return item.second.line() == line && item.second.demand.recent(now);
  });
}

void Pool::lacks(const std::string& class_key, PreloadSet preload, Instant now) {
  if (const auto asked = classes_.find(ClassId{class_key, preload}); asked != classes_.end())
    asked->second.lacked = now;
}

}  // namespace casemate::pool
