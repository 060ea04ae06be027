// What the engine reports, right or wrong, and what the second opinion makes of the pool's answer.
#include <algorithm>

#include "pool_world.h"

namespace casemate::sim {

using namespace pool;

bool PoolWorld::request(std::size_t of) {
  const SlotClass& asked = classes_[of];
  const Checkout checkout = pool_->checkout(asked.key, asked.preload, now_);
  if (checkout.level == Level::kCold) {
    EXPECT_NE(checkout.cause, ColdCause::kNone);
    EXPECT_FALSE(checkout.reason.empty());
    return false;
  }
  SlotSeen& slot = slots_.at(checkout.slot);
  EXPECT_FALSE(pool_->stopped().has_value());
  EXPECT_FALSE(slot.leased) << "handed out twice";
  EXPECT_FALSE(slot.unusable) << "its birth was not proved";
  EXPECT_EQ(slot.state, State::kReady);
  EXPECT_FALSE(nests_.at(slot.nest).gone) << "its nest is gone";
  for (const auto& [id, other] : slots_) {
    EXPECT_TRUE(!nests_.at(slot.nest).single || other.nest != slot.nest || id == checkout.slot ||
                other.state == State::kGone)
        << "its sandbox is not shown to be clean";
  }
  EXPECT_EQ(classes_[slot.of].key, asked.key);
  EXPECT_TRUE(classes_[slot.of].preload == asked.preload ||
              (config_.larger_set == LargerSet::kServe && classes_[slot.of].preload > asked.preload));
  slot.leased = true;
  slot.state = State::kLeased;
  ++leases_;
  const SlotId id = checkout.slot;
  if (!fault(10)) later(milliseconds{0}, milliseconds{5}, [this, id] { slot_running(id); });
  later(milliseconds{1}, milliseconds{faults_ ? 8'000 : 300}, [this, id] { slot_ended(id); });
  if (fault(40)) later(milliseconds{1}, milliseconds{9'000}, [this, id] { slot_quarantined(id); });
  return true;
}

void PoolWorld::nest_ready(NestId id) {
  if (!pool_->nest_ready(id, now_)) return;
  NestSeen& nest = nests_.at(id);
  EXPECT_FALSE(nest.ready || nest.gone || nest.end_asked);
  nest.ready = true;
}

void PoolWorld::nest_failed(NestId id) {
  if (!pool_->nest_failed(id, "it fell over", now_)) return;
  EXPECT_FALSE(nests_.at(id).ready || nests_.at(id).gone);
  nests_.at(id).gone = true;
}

void PoolWorld::zygote_died(NestId id) {
  if (!pool_->zygote_died(id, "it was killed", now_)) return;
  EXPECT_TRUE(nests_.at(id).ready && !nests_.at(id).gone);
  nests_.at(id).draining = true;
}

void PoolWorld::nest_gone(NestId id) {
  if (!pool_->nest_gone(id, "its first process ended", now_)) return;
  EXPECT_FALSE(nests_.at(id).gone);
  nests_.at(id).gone = true;
}

void PoolWorld::slot_ready(SlotId id, Level level) {
  BirthRecord birth;
  SlotSeen& slot = slots_.at(id);
  birth.volume = slot.volume.empty() ? "v" + std::to_string(next_volume_++) : slot.volume;
  const bool reappears = slot.volume.empty() && !dead_volumes_.empty() && fault(100);
  if (reappears) birth.volume = dead_volumes_[random_.below(dead_volumes_.size())];
  const RowState landlock = fault(10) ? RowState::kUnavailable : RowState::kOn;
  const RowState seccomp = fault(20) ? RowState::kOff : RowState::kOn;
  birth.rows = {{"seccomp", seccomp, "no other system call"}, {"landlock", landlock, "no other file"}};
  if (fault(50)) birth.rows.clear();
  const bool waived = !classes_[slot.of].waived.empty();
  const bool good = !birth.rows.empty() && seccomp == RowState::kOn && (landlock == RowState::kOn || waived);

  const std::string volume = birth.volume;
  const Result<void> took = pool_->slot_ready(id, level, std::move(birth), now_);
  if (!took) {
    EXPECT_EQ(took.error().code == ErrorCode::kDenied, reappears && slot.state <= State::kReady);
    if (took.error().code == ErrorCode::kDenied) {
      EXPECT_TRUE(pool_->stopped().has_value());
      slot.unusable = true;
    } else if (const SlotRecord* record = pool_->record(id); record && record->birth.volume == volume) {
      slot.volume = volume;  // too late to be of use, but it is known now whose it is
    }
    return;
  }
  EXPECT_FALSE(reappears);
  EXPECT_FALSE(slot.unusable);
  EXPECT_LE(slot.state, State::kReady);
  slot.volume = volume;
  if (good) slot.state = State::kReady;
  if (!good) slot.unusable = true;
}

void PoolWorld::slot_alive(SlotId id) {
  if (!pool_->slot_alive(id, now_)) return;
  EXPECT_EQ(slots_.at(id).state, State::kMade);
  slots_.at(id).alive_at = now_;
}

void PoolWorld::slot_failed(SlotId id) {
  if (!pool_->slot_failed(id, "fork: no memory", now_)) return;
  EXPECT_EQ(slots_.at(id).state, State::kMade);
  slots_.at(id).unusable = true;
}

void PoolWorld::slot_running(SlotId id) {
  if (!pool_->slot_running(id, now_)) return;
  EXPECT_EQ(slots_.at(id).state, State::kLeased);
  slots_.at(id).state = State::kRunning;
}

void PoolWorld::slot_ended(SlotId id) {
  if (!pool_->slot_ended(id, now_)) return;
  SlotSeen& slot = slots_.at(id);
  EXPECT_TRUE(slot.state == State::kReady || slot.state == State::kLeased || slot.state == State::kRunning);
  if (slot.state == State::kReady) slot.unusable = true;
  if (slot.state != State::kReady) slot.state = State::kOver;
}

void PoolWorld::slot_destroyed(SlotId id) {
  const SlotSeen& slot = slots_.at(id);
  constexpr RowState kOn = RowState::kOn;
  DeathProof proof{kOn, kOn, kOn, kOn};
  if (fault(10)) proof.groups_empty = RowState::kUnavailable;
  if (fault(40)) proof.init_reaped = RowState::kOff;
  const bool waived = !classes_[slot.of].waived.empty();
  const bool good = proof.init_reaped == kOn && (proof.groups_empty == kOn || waived);
  take_end(id, pool_->slot_destroyed(id, proof, now_), good, 4);
}

void PoolWorld::slot_cleaned(SlotId id) {
  CleanProof proof{RowState::kOn, RowState::kOn, RowState::kOn};
  if (fault(20)) proof.processes_gone = RowState::kOff;
  if (fault(20)) proof.channels_closed = RowState::kUnavailable;
  const bool good = proof.processes_gone == RowState::kOn && proof.channels_closed == RowState::kOn;
  const Result<SlotState> ended = pool_->slot_cleaned(id, proof, now_);
  NestSeen& nest = nests_.at(slots_.at(id).nest);
  EXPECT_TRUE(!ended || (nest.single && !nest.gone));
  if (ended && !good) nest.draining = true;  // by the pool itself
  take_end(id, ended, good, 3);
}

void PoolWorld::nest_spent(NestId id) {
  if (!pool_->nest_spent(id)) return;
  EXPECT_TRUE(nests_.at(id).ready && !nests_.at(id).gone);
  nests_.at(id).draining = true;
}

void PoolWorld::take_end(SlotId id, const Result<SlotState>& ended, bool good, std::size_t rows) {
  if (!ended) return;
  SlotSeen& slot = slots_.at(id);
  EXPECT_EQ(slot.state, State::kAsked);
  EXPECT_EQ(*ended, good ? SlotState::kDestroyed : SlotState::kQuarantined);
  slot.state = good ? State::kGone : State::kQuarantined;
  if (good && !slot.volume.empty()) dead_volumes_.push_back(slot.volume);
  const SlotRecord* record = pool_->record(id);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->death.ended_as, *ended);
  EXPECT_EQ(record->death.rows.size(), rows);
  EXPECT_FALSE(record->death.why.empty());
}

void PoolWorld::slot_quarantined(SlotId id) {
  if (!pool_->slot_quarantined(id, "nobody knows", now_)) return;
  SlotSeen& slot = slots_.at(id);
  EXPECT_NE(slot.state, State::kMade);
  EXPECT_LT(slot.state, State::kGone);
  slot.state = State::kQuarantined;
}

// An event for anybody, whatever he is doing.
void PoolWorld::nonsense() {
  if (slots_.empty() || nests_.empty()) return;
  const SlotId slot{random_.between(1, slots_.rbegin()->first.value)};
  const NestId nest{random_.between(1, nests_.rbegin()->first.value)};
  switch (random_.below(13)) {
    case 0: nest_ready(nest); break;
    case 1: nest_failed(nest); break;
    case 2: zygote_died(nest); break;
    case 3: slot_ready(slot, random_.one_in(2) ? Level::kHot : Level::kWarm); break;
    case 4: slot_failed(slot); break;
    case 5: slot_running(slot); break;
    case 6: slot_ended(slot); break;
    case 7: slot_destroyed(slot); break;
    case 8: slot_quarantined(slot); break;
    case 9: slot_cleaned(slot); break;
    case 10: nest_spent(nest); break;
    case 11: slot_alive(slot); break;
    default: {
      const SlotId unknown{slots_.rbegin()->first.value + 1};
      EXPECT_FALSE(pool_->slot_ended(unknown, now_));
      EXPECT_FALSE(pool_->nest_gone(NestId{nests_.rbegin()->first.value + 1}, "", now_));
      EXPECT_EQ(pool_->record(unknown), nullptr);
    }
  }
}

}  // namespace casemate::sim
