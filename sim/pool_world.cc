#include "pool_world.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/limits.h"

namespace casemate::sim {

using namespace pool;

PoolWorld::PoolWorld(Random& random) : random_(random) {
  rarity_ = std::size_t{1} << random_.below(6);
  now_ = Instant{} + std::chrono::hours{1};
  make_config();
  Result<Pool> pool = Pool::make(config_);
  EXPECT_TRUE(pool.has_value());
  pool_.emplace(std::move(*pool));
  make_classes();
}

void PoolWorld::make_config() {
  config_.memory_budget = mib(random_.one_in(2) ? random_.between(12, 40) : random_.between(40, 120));
  config_.nest_cost = {mib(random_.between(1, 8)), mib(random_.between(4, 16)), mib(random_.between(8, 40))};
  config_.sandbox_cost = {mib(random_.between(2, 10)), mib(random_.between(4, 12)),
                          mib(random_.between(8, 20))};
  config_.template_cost = {mib(random_.between(4, 16)), mib(random_.between(6, 20)),
                           mib(random_.between(8, 40))};
  config_.slots_max = random_.between(4, 40);
  config_.nests_max = random_.between(1, 6);
  config_.preparing_max = random_.between(1, 4);
  config_.teardown_debt_max = random_.between(1, 12);
  config_.quarantined_max = random_.between(1, 20);
  config_.nest_forks_max = random_.between(1, 50);
  config_.nest_age_max = random_.span(milliseconds{5'000}, milliseconds{200'000});
  config_.slot_age_max = random_.span(milliseconds{5'000}, milliseconds{100'000});
  config_.nest_start_max = milliseconds{2'000};
  config_.template_start_max = milliseconds{4'000};
  config_.slot_create_max = milliseconds{1'000};
  config_.restored_create_max = milliseconds{2'000};
  config_.teardown_max = milliseconds{3'000};
  config_.backoff_max = random_.span(milliseconds{500}, milliseconds{20'000});
  config_.larger_set = random_.one_in(2) ? LargerSet::kServe : LargerSet::kRefuse;
}

void PoolWorld::make_classes() {
  const std::size_t count = random_.between(1, 4);
  for (std::size_t i = 0; i < count; ++i) {
    SlotClass added;
    added.key = random_.one_in(2) ? "small" : "large";
    added.image = random_.one_in(4) ? "other" : "image";
    added.preload = kPreloadSets[random_.below(kPreloadSets.size())];
    added.slot_cost = mib(random_.between(1, 4));
    added.hot_max = random_.between(1, 6);
    added.hot_min = random_.below(added.hot_max + 1);
    added.warm = random_.one_in(3) ? random_.below(3) : 0;
    if (random_.one_in(3)) added.waived = {"landlock", "groups_empty"};
    if (random_.one_in(2)) {  // of an image of its own, since what it comes from has the limits of its class
      constexpr std::array kOrigins = {Origin::kShared, Origin::kAlone, Origin::kTemplate};
      added.origin = kOrigins[random_.below(kOrigins.size())];
      added.image = added.key = "its own " + std::to_string(i);
    }
    if (pool_->add_class(added)) classes_.push_back(added);
  }
}

// ---- Time

void PoolWorld::later(milliseconds least, milliseconds most, Event event) {
  events_.emplace(now_ + random_.span(least, most), event);
  if (fault(10)) events_.emplace(now_ + random_.span(most, most * 20), std::move(event));
}

void PoolWorld::step(Instant until) {
  const std::optional<Instant> deadline = pool_->next_deadline(now_);
  Instant next = until;
  if (deadline) next = std::min(next, *deadline);
  if (!events_.empty()) next = std::min(next, events_.begin()->first);
  // The pool said that until then it has nothing to do by itself.
  if (next > now_ && random_.one_in(2)) {
    const auto gap = std::chrono::duration_cast<milliseconds>(next - now_);
    if (gap > milliseconds{1}) {
      now_ += random_.span(milliseconds{0}, gap - milliseconds{1});
      EXPECT_TRUE(pool_->plan(now_).empty()) << "before its deadline";
    }
  }
  now_ = std::max(now_, next);
  while (!events_.empty() && events_.begin()->first <= now_) {
    const Event event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
    check();
    // A request may come before plan() has seen what happened.
    if (fault(4)) (void)request(random_.below(classes_.size()));
    if (random_.one_in(2)) plan();  // some engines take all events first
  }
  plan();
}

void PoolWorld::plan() {
  const std::vector<Action> actions = pool_->plan(now_);
  take_late_quarantines();
  check_given_up();
  for (const Action& action : actions) {
    std::visit([&](const auto& each) { act(each); }, action);
  }
  check();
  check_times();
}

void PoolWorld::check_times() {
  EXPECT_TRUE(pool_->plan(now_).empty()) << "a second time";
  const std::optional<Instant> deadline = pool_->next_deadline(now_);
  EXPECT_TRUE(!deadline || *deadline > now_);
}

// ---- What the pool asks for

void PoolWorld::act(const StartNest& action) {
  EXPECT_TRUE(nests_.empty() || action.nest > nests_.rbegin()->first) << "an id again";
  EXPECT_FALSE(pool_->stopped().has_value());
  const auto of = std::find_if(classes_.begin(), classes_.end(), [&](const SlotClass& each) {
    return each.image == action.image && each.preload == action.preload;
  });
  nests_[action.nest].cost = nest_cost_of(*of);
  nests_[action.nest].single = of->origin == Origin::kShared;
  const NestId id = action.nest;
  if (fault(8)) {
    later(milliseconds{1}, milliseconds{3'000}, [this, id] { nest_failed(id); });
  } else if (!fault(20)) {
    later(milliseconds{10}, faults_ ? milliseconds{2'500} : milliseconds{200},
          [this, id] { nest_ready(id); });
  }
  if (fault(6)) later(milliseconds{1}, milliseconds{60'000}, [this, id] { zygote_died(id); });
  if (fault(6)) later(milliseconds{1}, milliseconds{60'000}, [this, id] { nest_gone(id); });
}

void PoolWorld::act(const MakeSlot& action) {
  EXPECT_TRUE(slots_.empty() || action.slot > slots_.rbegin()->first) << "an id again";
  const NestSeen& nest = nests_.at(action.nest);
  EXPECT_TRUE(nest.ready && !nest.draining && !nest.end_asked && !nest.gone) << "of a nest that cannot";
  EXPECT_FALSE(pool_->stopped().has_value());
  for (const auto& [id, other] : slots_) {
    EXPECT_TRUE(!nest.single || other.nest != action.nest || other.state == State::kGone)
        << "beside another in a sandbox, or after one that was not shown to be gone";
  }
  SlotSeen& slot = slots_[action.slot];
  slot.nest = action.nest;
  const auto is = [&](const SlotClass& each) {
    return each.key == action.class_key && each.preload == action.preload;
  };
  const auto of = std::find_if(classes_.begin(), classes_.end(), is);
  slot.of = static_cast<std::size_t>(of - classes_.begin());
  slot.cost = of->slot_cost;
  const SlotId id = action.slot;
  const Level level = action.level;
  slot.alive_at = now_;
  // Such a slot is a while at it, and says so.
  const bool prepares_itself = of->origin == Origin::kAlone || of->origin == Origin::kTemplate;
  if (prepares_itself && random_.one_in(2))
    later(milliseconds{1}, milliseconds{90}, [this, id] { slot_alive(id); });
  if (fault(8)) {
    later(milliseconds{1}, milliseconds{1'500}, [this, id] { slot_failed(id); });
  } else if (!fault(15)) {
    if (level == Level::kHot && random_.one_in(4)) {
      later(milliseconds{1}, milliseconds{200}, [this, id] { slot_ready(id, Level::kWarm); });
    }
    later(milliseconds{5}, faults_ ? milliseconds{1'200} : milliseconds{100},
          [this, id, level] { slot_ready(id, level); });
  }
  if (fault(12)) later(milliseconds{1}, milliseconds{60'000}, [this, id] { slot_ended(id); });
  if (fault(60)) later(milliseconds{1}, milliseconds{60'000}, [this, id] { slot_quarantined(id); });
}

void PoolWorld::act(const DestroySlot& action) {
  SlotSeen& slot = slots_.at(action.slot);
  EXPECT_NE(slot.state, State::kLeased) << "in use";
  EXPECT_NE(slot.state, State::kRunning) << "in use";
  EXPECT_LT(slot.state, State::kAsked) << "twice";
  slot.state = State::kAsked;
  slot.asked_at = now_;
  const SlotId id = action.slot;
  if (fault(20)) return;
  // What did not end cleanly takes its sandbox with it.
  const NestId nest = slot.nest;
  const bool spent = nests_.at(nest).single && (nests_.at(nest).draining || random_.one_in(6));
  const bool cleaned = nests_.at(nest).single && !spent && !nests_.at(nest).gone;
  later(milliseconds{1}, milliseconds{faults_ ? 3'500 : 50}, [this, id, nest, cleaned, spent] {
    if (cleaned && !nests_.at(nest).gone) return slot_cleaned(id);
    if (spent) nest_spent(nest);
    slot_destroyed(id);
    if (spent) nest_gone(nest);
  });
}

void PoolWorld::act(const EndNest& action) {
  NestSeen& nest = nests_.at(action.nest);
  EXPECT_FALSE(nest.gone);
  EXPECT_FALSE(nest.end_asked) << "twice";
  nest.end_asked = true;
  for (const auto& [id, slot] : slots_) {
    EXPECT_TRUE(slot.nest != action.nest || slot.state >= State::kGone) << "a slot of it is left";
  }
  const NestId id = action.nest;
  later(milliseconds{1}, milliseconds{100}, [this, id] { nest_gone(id); });
}

// ---- What must hold at any time

// The pool's own word: a destruction that took too long.
void PoolWorld::take_late_quarantines() {
  for (auto& [id, slot] : slots_) {
    if (slot.state != State::kAsked) continue;
    const auto known = pool_->slots().find(id);
    if (known == pool_->slots().end() || known->second.state != SlotState::kQuarantined) continue;
    EXPECT_GE(now_ - slot.asked_at, config_.teardown_max);
    slot.state = State::kQuarantined;
  }
}

// Nor is a slot given up before its class's time is over, nor kept waiting for after it.
void PoolWorld::check_given_up() {
  for (auto& [id, slot] : slots_) {
    if (slot.state != State::kMade || slot.unusable) continue;
    const bool restored = classes_[slot.of].origin == Origin::kTemplate;
    const milliseconds most = restored ? config_.restored_create_max : config_.slot_create_max;
    const auto known = pool_->slots().find(id);
    if (known == pool_->slots().end()) continue;
    if (known->second.record.death.why.starts_with("it was not ready within")) {
      EXPECT_GE(now_ - slot.alive_at, most);
      slot.unusable = true;
    } else if (!known->second.condemned && known->second.state == SlotState::kCreating) {
      EXPECT_LT(now_ - slot.alive_at, most);
    }
  }
}

void PoolWorld::check() {
  std::uint64_t memory = 0;
  std::size_t debt = 0;
  std::size_t live = 0;
  for (const auto& [id, slot] : slots_) {
    EXPECT_EQ(pool_->slots().contains(id), slot.state != State::kGone);
    if (slot.state == State::kGone) continue;
    memory += slot.cost.count;
    ++live;
    if (slot.state >= State::kLeased && slot.state <= State::kAsked) ++debt;
  }
  std::size_t nests = 0;
  for (const auto& [id, nest] : nests_) {
    EXPECT_EQ(pool_->nests().contains(id), !nest.gone);
    if (nest.gone) continue;
    memory += nest.cost.count;
    ++nests;
  }
  EXPECT_LE(memory, config_.memory_budget.count);
  EXPECT_EQ(memory, pool_->memory_used().count);
  EXPECT_LE(debt, config_.teardown_debt_max);
  EXPECT_LE(live, config_.slots_max);
  EXPECT_LE(nests, config_.nests_max);
  EXPECT_EQ(pool_->slots().size(), live);
  EXPECT_LE(pool_->ended().size(), kPoolRecordsMax);
  EXPECT_LE(pool_->lines_known(), classes_.size());
}

// ---- The phases

void PoolWorld::chaos(milliseconds length) {
  const Instant end = now_ + length;
  plan();
  while (now_ < end && !testing::Test::HasFailure()) {
    const milliseconds gap = random_.one_in(20) ? milliseconds{90'000} : milliseconds{2'000};
    const Instant next = now_ + random_.span(milliseconds{1}, gap);
    while (now_ < next) step(next);
    for (std::size_t burst = random_.between(1, 6); burst > 0; --burst) {
      (void)request(random_.below(classes_.size()));
    }
    if (fault(3)) nonsense();
    check();
    plan();
  }
}

bool PoolWorld::calm() {
  faults_ = false;
  // Until the last late event is through.
  const Instant settled = now_ + std::chrono::minutes{25};
  while (now_ < settled && !testing::Test::HasFailure()) step(settled);
  if (pool_->stopped()) return false;
  const std::size_t promised = promised_classes();
  // Again and again, since what serves one class may leave nothing for another.
  for (int round = 0; round < 3 && promised > 0; ++round) {
    std::vector<bool> served(classes_.size(), false);
    const Instant end = now_ + config_.slot_age_max + config_.nest_age_max + std::chrono::minutes{10};
    while (now_ < end && !pool_->stopped() && !testing::Test::HasFailure()) {
      const Instant next = now_ + std::chrono::seconds{2};
      while (now_ < next) step(next);
      // In turns: who is first when the teardown debt has room for one is not the pool's affair.
      ++turn_;
      for (std::size_t i = 0; i < classes_.size(); ++i) {
        const std::size_t of = (turn_ + i) % classes_.size();
        if (request(of)) served[of] = true;
        plan();
      }
      if (static_cast<std::size_t>(std::count(served.begin(), served.end(), true)) >= promised) break;
    }
    EXPECT_TRUE(now_ < end) << promised << " classes that are asked for do not all get slots";
  }
  return promised == classes_.size();
}

Bytes PoolWorld::nest_cost_of(const SlotClass& of) const {
  const std::size_t set = preload_index(of.preload);
  switch (of.origin) {
    case Origin::kZygote: return config_.nest_cost[set];
    case Origin::kAlone: break;  // there is nothing that its slots come from
    case Origin::kTemplate: return config_.template_cost[set];
    case Origin::kShared: return config_.sandbox_cost[set];
  }
  return Bytes{0};
}

// How many classes have to get slots when all are asked for all the time: all where there is room
// for all side by side, else one where there is room for any alone.
std::size_t PoolWorld::promised_classes() const {
  std::map<LineId, std::uint64_t> lines;
  std::uint64_t quarantine = 0;
  std::size_t quarantined = 0;
  for (const auto& [id, slot] : slots_) {
    if (slot.state != State::kQuarantined) continue;
    quarantine += slot.cost.count;
    ++quarantined;
  }
  std::uint64_t all = quarantine;
  bool any = true;
  for (const SlotClass& each : classes_) {
    const std::uint64_t nest = nest_cost_of(each).count;
    all += each.slot_cost.count + (lines.emplace(LineId{each.image, each.preload}, nest).second ? nest : 0);
    any = any && quarantine + nest + each.slot_cost.count <= config_.memory_budget.count;
  }
  const bool side_by_side = all <= config_.memory_budget.count && lines.size() <= config_.nests_max;
  if (side_by_side && quarantined + classes_.size() <= config_.slots_max) return classes_.size();
  return any && quarantined < config_.slots_max ? 1 : 0;
}

void PoolWorld::finish() {
  faults_ = false;
  pool_->stop("the simulation is over");
  EXPECT_FALSE(request(0));
  for (auto& [id, slot] : slots_) {
    if (slot.state == State::kLeased || slot.state == State::kRunning) slot_ended(id);
  }
  plan();
  const Instant end = now_ + std::chrono::minutes{10};
  while (now_ < end && !pool_->empty() && !testing::Test::HasFailure()) step(end);
  EXPECT_TRUE(pool_->empty());
  for (const auto& [id, slot] : slots_) {
    EXPECT_TRUE(slot.state == State::kGone || slot.state == State::kQuarantined) << id.value;
  }
}

}  // namespace casemate::sim
