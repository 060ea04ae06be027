// What to do next: time outs first, then what is too much, then what is missing.
#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "base/duration.h"
#include "pool/pool.h"

namespace casemate::pool {
namespace {

// For so many times as long as a hot slot takes to be made a class counts as behind after it lacked one.
constexpr int kBehindTimes = 10;
constexpr int kForgetShare = 16;

}  // namespace

struct Pool::Want {
  ClassEntry* entry = nullptr;
  bool recent = false;  // asked for within the last minute
  std::size_t hot = 0, hot_target = 0;
  std::size_t warm = 0, warm_target = 0;

  bool lacks_hot() const { return hot < hot_target; }
  bool lacks() const { return lacks_hot() || warm < warm_target; }
  // Who is asked for goes before who is kept in store; then who has the smallest part of its target; then
  // who was served the longest ago, so that two who never have anything take turns.
  bool before(const Want& other) const {
    if (recent != other.recent) return recent;
    const std::size_t mine = (hot + warm) * (other.hot_target + other.warm_target);
    const std::size_t its = (other.hot + other.warm) * (hot_target + warm_target);
    return std::tie(mine, entry->last_made) < std::tie(its, other.entry->last_made);
  }
};

enum class Pool::Served {
  kMade,
  kWaits,   // for a nest, for a back-off, or for ever: others may go on
  kNoRoom,  // it could be served if others had less
};

std::vector<Action> Pool::plan(Instant now) {
  std::vector<Action> actions;
  for (auto& [id, entry] : classes_) entry.demand.settle(now);
  // Again while something came of it, because one thing makes room for another. Each round but the last
  // asks for something, and what is asked for at once is bounded.
  std::size_t before = 0;
  bool again = true;
  while (again) {
    before = actions.size();
    expire_nests(now);
    expire_slots(now);
    shed(now);
    tear_down(now, actions);  // before what takes long
    const bool pressed = fill(now, actions);
    end_nests(actions);
    again = pressed || actions.size() > before;
  }
  return actions;
}

// ---- Time outs

milliseconds Pool::create_max(const Slot& slot) const {
  return classes_.at(slot.of).spec.origin == Origin::kTemplate ? config_.restored_create_max
                                                               : config_.slot_create_max;
}

void Pool::expire_nests(Instant now) {
  for (auto& [id, nest] : nests_) {
    if (nest.state == NestState::kStarting && now - nest.started_at >= nest.start_max) {
      line_failed(nest, "it did not start within " + format_duration(nest.start_max), now);
      drain(nest);
    }
    if (nest.state == NestState::kReady &&
        (nest.forks >= config_.nest_forks_max || now - *nest.ready_at >= config_.nest_age_max)) {
      rotate(nest);
    }
  }
}

void Pool::expire_slots(Instant now) {
  for (auto& [id, slot] : slots_) {
    if (slot.state == SlotState::kProving && now - slot.since >= config_.teardown_max) {
      quarantine(slot, "its destruction took longer than " + format_duration(config_.teardown_max), now);
    } else if (slot.condemned) {
      continue;
    } else if (slot.state == SlotState::kCreating && now - slot.since >= create_max(slot)) {
      slot_lost(slot, "it was not ready within " + format_duration(create_max(slot)), now);
    } else if (slot.parked() && now - *slot.record.birth.ready_at >= config_.slot_age_max) {
      condemn(slot, "parked for longer than " + format_duration(config_.slot_age_max));
    }
  }
}

// ---- Too much

std::size_t Pool::hot_target(const ClassEntry& entry, Instant now) const {
  return stopped_ || yields(entry, now) ? 0 : entry.demand.target();
}

std::size_t Pool::warm_target(const ClassEntry& entry, Instant now) const {
  return stopped_ || yields(entry, now) ? 0 : entry.spec.warm;
}

// Are slots asked for quicker than they can rehearse? Then they are made without: what a rehearsal saves a
// run it costs the next one, and more.
bool Pool::behind(const ClassEntry& entry, Instant now) const {
  return entry.lacked && entry.hot_took && now - *entry.lacked < kBehindTimes * *entry.hot_took;
}

bool Pool::yields(const ClassEntry& entry, Instant now) const {
  return pressed_until_ && now < *pressed_until_ && !entry.demand.recent(now);
}

// Condemns parked slots above their target, oldest first, and drains nests that nobody wants.
void Pool::shed(Instant now) {
  std::map<std::pair<ClassId, Level>, std::vector<Slot*>> parked;
  for (auto& [id, slot] : slots_) {
    if (slot.parked() && !slot.condemned) parked[{slot.of, slot.wanted}].push_back(&slot);
  }
  for (auto& [kind, slots] : parked) {
    const ClassEntry& entry = classes_.at(kind.first);
    const bool hot = kind.second == Level::kHot;
    const std::size_t target = hot ? hot_target(entry, now) : warm_target(entry, now);
    if (slots.size() <= target) continue;
    std::stable_sort(slots.begin(), slots.end(), [](const Slot* left, const Slot* right) {
      return left->record.birth.ready_at < right->record.birth.ready_at;
    });
    slots.resize(slots.size() - target);
    for (Slot* slot : slots) condemn(*slot, stopped_ ? "the pool stopped" : "more than were wanted");
  }

  replace_stand_ins(now);

  std::set<LineId> wanted;
  for (const auto& [id, entry] : classes_) {
    if (hot_target(entry, now) + warm_target(entry, now) > 0) wanted.insert(entry.line());
  }
  for (auto& [id, nest] : nests_) {
    const bool serves = nest.state == NestState::kReady || (stopped_ && nest.state == NestState::kStarting);
    if (serves && !has_slots(id) && (!wanted.contains(nest.line) || surplus(nest, now))) rotate(nest);
  }
}

// When there is time again: one of a class after the other, so that there is always one to be had, and only
// where the class has all that it shall have.
void Pool::replace_stand_ins(Instant now) {
  if (preparing() > 0) return;
  std::map<ClassId, std::size_t> hot;
  for (const auto& [id, slot] : slots_) {
    if (slot.counts() && slot.wanted == Level::kHot) ++hot[slot.of];
  }
  for (auto& [id, slot] : slots_) {
    if (!slot.parked() || slot.condemned || !slot.stands_in()) continue;
    const ClassEntry& entry = classes_.at(slot.of);
    if (behind(entry, now) || hot[slot.of] < hot_target(entry, now)) continue;
    condemn(slot, "there is time for a hot one");
    --hot[slot.of];
  }
}

// What is over is destroyed now: it counts as debt already. What is condemned waits for the debt's room.
void Pool::tear_down(Instant now, std::vector<Action>& actions) {
  const auto destroy = [&](Slot& slot) {
    move(slot, SlotState::kProving, now);
    actions.emplace_back(DestroySlot{slot.id});
  };
  for (auto& [id, slot] : slots_) {
    if (slot.state == SlotState::kTearingDown) destroy(slot);
  }
  std::size_t debt = teardown_debt();
  for (auto& [id, slot] : slots_) {
    if (debt >= config_.teardown_debt_max) return;
    if (!slot.condemned || !(slot.parked() || slot.state == SlotState::kCreating)) continue;
    slot.record.death.over_at = now;
    move(slot, SlotState::kTearingDown, now);
    destroy(slot);
    ++debt;
  }
}

void Pool::end_nests(std::vector<Action>& actions) {
  for (auto& [id, nest] : nests_) {
    if (nest.state != NestState::kDraining || nest.end_asked || has_slots(id)) continue;
    nest.end_asked = true;
    actions.emplace_back(EndNest{id});
  }
}

bool Pool::has_slots(NestId nest) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& item) {
    return item.second.record.nest == nest && item.second.state != SlotState::kQuarantined;
  });
}

// ---- Missing

// True when others yield from now on: classes that nobody asks for, or a sandbox that waits for its next
// slot.
bool Pool::fill(Instant now, std::vector<Action>& actions) {
  if (stopped_) return false;
  std::vector<Want> list = wants(now);
  while (!list.empty() && preparing() < config_.preparing_max) {
    const auto next = std::min_element(
        list.begin(), list.end(), [](const Want& left, const Want& right) { return left.before(right); });
    const Served served = serve(*next, now, actions);
    if (served == Served::kNoRoom && next->recent) {
      if (drain_empty(next->entry->line())) return true;
      // Nobody passes it: what becomes free would go to smaller needs for ever.
      const bool pressed = pressed_until_ && now < *pressed_until_;
      pressed_until_ = now + kDemandWindow;
      return !pressed;
    }
    if (served == Served::kMade) ++(next->lacks_hot() ? next->hot : next->warm);
    if (served != Served::kMade || !next->lacks()) list.erase(next);
  }
  return false;
}

std::vector<Pool::Want> Pool::wants(Instant now) const {
  std::map<ClassId, Want> all;
  for (const auto& [id, entry] : classes_) {
    Want& want = all[id];
    want.entry = const_cast<ClassEntry*>(&entry);
    want.recent = entry.demand.recent(now);
    want.hot_target = hot_target(entry, now);
    want.warm_target = warm_target(entry, now);
  }
  for (const auto& [id, slot] : slots_) {
    if (!counts(slot)) continue;
    Want& want = all[slot.of];
    ++(slot.wanted == Level::kHot ? want.hot : want.warm);
  }
  std::vector<Want> list;
  for (const auto& [id, want] : all) {
    if (want.lacks()) list.push_back(want);
  }
  return list;
}

std::vector<ClassId> Pool::lacking(Instant now) const {
  std::vector<ClassId> classes;
  for (const Want& want : wants(now)) classes.push_back(want.entry->id());
  return classes;
}

Pool::Served Pool::serve(const Want& want, Instant now, std::vector<Action>& actions) {
  const ClassEntry& entry = *want.entry;
  if (entry.backoff.waiting(now)) return Served::kWaits;
  const Nest* serving = serving_nest(entry.line());
  if (serving == nullptr) return start_nest(entry, now, actions);
  if (serving->state == NestState::kStarting || serving->forks >= config_.nest_forks_max) {
    return Served::kWaits;
  }
  if (!could_fit(entry, now)) return Served::kWaits;
  const bool fits = memory_used().count + entry.spec.slot_cost.count <= config_.memory_budget.count;
  if (!fits || slots_.size() >= config_.slots_max) return Served::kNoRoom;
  make_slot(want, nests_.at(serving->id), now, actions);
  return Served::kMade;
}

void Pool::make_slot(const Want& want, Nest& nest, Instant now, std::vector<Action>& actions) {
  ClassEntry& entry = *want.entry;
  Slot slot;
  slot.id = SlotId{next_slot_++};
  slot.of = entry.id();
  slot.cost = entry.spec.slot_cost;
  slot.wanted = want.lacks_hot() ? Level::kHot : Level::kWarm;
  const bool forked = entry.spec.origin == Origin::kZygote || entry.spec.origin == Origin::kShared;
  slot.asked = behind(entry, now) && forked ? Level::kWarm : slot.wanted;
  // What is not measured any more is believed less and less, until a hot one is made again.
  if (slot.stands_in()) *entry.hot_took -= *entry.hot_took / kForgetShare;
  slot.since = now;
  slot.record.slot = slot.id;
  slot.record.nest = nest.id;
  slot.record.class_key = entry.spec.key;
  slot.record.preload = entry.spec.preload;
  slot.record.birth.asked_at = now;
  ++nest.forks;
  entry.last_made = slot.id;
  actions.emplace_back(MakeSlot{slot.id, nest.id, entry.spec.key, entry.spec.preload, slot.asked});
  slots_.emplace(slot.id, std::move(slot));
}

Bytes Pool::nest_cost(const ClassEntry& entry) const {
  const std::size_t set = preload_index(entry.spec.preload);
  switch (entry.spec.origin) {
    case Origin::kZygote: return config_.nest_cost[set];
    case Origin::kAlone: return Bytes{0};
    case Origin::kTemplate: return config_.template_cost[set];
    case Origin::kShared: return config_.sandbox_cost[set];
  }
  return Bytes{0};
}

Pool::Served Pool::start_nest(const ClassEntry& entry, Instant now, std::vector<Action>& actions) {
  const LineId line = entry.line();
  if (lines_.at(line).waiting(now) || !could_fit(entry, now)) return Served::kWaits;
  Nest nest;
  nest.cost = nest_cost(entry);
  nest.reserved = entry.spec.slot_cost;
  const std::uint64_t needed = committed().count + nest.cost.count + nest.reserved.count;
  // A further sandbox of a class is no reason for others to have less.
  if (needed > config_.memory_budget.count || nests_.size() >= config_.nests_max)
    return has_nest(line) ? Served::kWaits : Served::kNoRoom;
  nest.id = NestId{next_nest_++};
  nest.line = line;
  nest.single = entry.spec.origin == Origin::kShared;
  nest.started_at = now;
  nest.start_max =
      entry.spec.origin == Origin::kTemplate ? config_.template_start_max : config_.nest_start_max;
  actions.emplace_back(StartNest{nest.id, line.image, line.preload});
  nests_.emplace(nest.id, std::move(nest));
  return Served::kWaits;
}

Bytes Pool::memory_used() const {
  Bytes sum;
  for (const auto& [id, nest] : nests_) sum.count += nest.cost.count;
  for (const auto& [id, slot] : slots_) sum.count += slot.cost.count;
  return sum;
}

Bytes Pool::committed() const {
  Bytes sum = memory_used();
  for (const auto& [id, nest] : nests_) {
    if (nest.state != NestState::kDraining && !has_slots(id)) sum.count += nest.reserved.count;
  }
  return sum;
}

std::size_t Pool::preparing() const {
  std::size_t count = 0;
  for (const auto& [id, nest] : nests_) count += nest.state == NestState::kStarting && !is_further(nest);
  for (const auto& [id, slot] : slots_) {
    count += slot.state == SlotState::kCreating && !slot.condemned ? 1 : 0;
  }
  return count;
}

// ---- When to look again

std::optional<Instant> Pool::next_deadline(Instant now) const {
  std::optional<Instant> next;
  const auto at = [&](Instant instant) { next = std::min(next.value_or(instant), instant); };
  for (const auto& [id, nest] : nests_) {
    if (nest.state == NestState::kStarting) at(nest.started_at + nest.start_max);
    if (nest.state == NestState::kReady) at(*nest.ready_at + config_.nest_age_max);
  }
  for (const auto& [id, slot] : slots_) {
    if (slot.state == SlotState::kProving) at(slot.since + config_.teardown_max);
    if (slot.condemned) continue;
    if (slot.state == SlotState::kCreating) at(slot.since + create_max(slot));
    if (slot.parked()) at(*slot.record.birth.ready_at + config_.slot_age_max);
    if (!slot.parked() || !slot.stands_in()) continue;
    const ClassEntry& entry = classes_.at(slot.of);
    if (behind(entry, now)) at(*entry.lacked + kBehindTimes * *entry.hot_took);
  }
  if (stopped_) return next;
  for (const auto& [line, backoff] : lines_) {
    if (backoff.waiting(now)) at(backoff.retry_at());
  }
  for (const auto& [id, entry] : classes_) {
    if (entry.backoff.waiting(now)) at(entry.backoff.retry_at());
    if (const auto change = entry.demand.next_change(now)) at(*change);
  }
  if (pressed_until_ && now < *pressed_until_) at(*pressed_until_);
  return next;
}

}  // namespace casemate::pool
