// The slots that wait, by class and level, the one that was ready first at the front: so that handing one out
// costs the same with a thousand of them. For the pool's own sources.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "pool/parts.h"

namespace casemate::pool {

class Parked {
 public:
  using Order = std::set<std::pair<Instant, SlotId>>;

  // A slot is put in when it gets into a parked state, and taken out before it leaves it.
  void put(const Slot& slot) { kinds_[kind_of(slot)].insert(place_of(slot)); }
  void take(const Slot& slot) {
    const auto found = kinds_.find(kind_of(slot));
    found->second.erase(place_of(slot));
    if (found->second.empty()) kinds_.erase(found);
  }
  const Order& of(const ClassId& id, Level level) const {
    static const Order kNone;
    const auto found = kinds_.find({id, level});
    return found == kinds_.end() ? kNone : found->second;
  }

 private:
  using Kind = std::pair<ClassId, Level>;
  static Kind kind_of(const Slot& slot) {
    return {slot.of, slot.state == SlotState::kHot ? Level::kHot : Level::kWarm};
  }
  static std::pair<Instant, SlotId> place_of(const Slot& slot) {
    return {*slot.record.birth.ready_at, slot.id};
  }
  std::map<Kind, Order> kinds_;
};

}  // namespace casemate::pool
