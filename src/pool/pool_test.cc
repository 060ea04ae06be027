#include "pool/pool.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "pool/test_support.h"

namespace casemate::pool {
namespace {

TEST_F(PoolTest, TakesASlotThroughItsLife) {
  begin(some_config(), {some_class()});
  EXPECT_EQ(plan(), "start bare 1");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot");
  ASSERT_TRUE(ready(1));
  EXPECT_EQ(plan(), "");
  EXPECT_EQ(lease(), 1u);
  EXPECT_EQ(plan(), "make 2 of 1 hot");
  ASSERT_TRUE(pool().slot_running({1}, now_));
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  EXPECT_EQ(plan(), "destroy 1");
  const Result<SlotState> ended = pool().slot_destroyed({1}, kGone, now_);
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, SlotState::kDestroyed);
  const SlotRecord* record = pool().record({1});
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->level, Level::kHot);
  EXPECT_EQ(record->birth.rows.size(), 1u);
  EXPECT_EQ(record->death.why, "its run is over");
  EXPECT_EQ(record->death.rows.size(), 4u);
}

TEST_F(PoolTest, HandsOutTheOldestAndThenWarmOnes) {
  SlotClass some = some_class(kBare, 2);
  some.warm = 1;
  begin(some_config(), {some});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 1 hot, make 3 of 1 warm");
  ASSERT_TRUE(ready(3, Level::kWarm));
  ASSERT_TRUE(ready(2));
  now_ += seconds{1};
  ASSERT_TRUE(ready(1));
  EXPECT_EQ(lease(), 2u);
  EXPECT_EQ(lease(), 1u);
  const Checkout warm = pool().checkout("k", kBare, now_);
  EXPECT_EQ(warm.level, Level::kWarm);
  EXPECT_EQ(warm.slot.value, 3u);
  EXPECT_EQ(cold(), "no slot is ready");
}

TEST_F(PoolTest, KeepsAThousandAndCountsThoseInDebt) {
  PoolConfig config = some_config();
  config.memory_budget = gib(8);
  config.slots_max = kPoolSlotsMax;
  config.nest_forks_max = kPoolSlotsMax;
  SlotClass some = some_class(kBare, 1000);
  some.hot_max = 1000;
  begin(config, {some});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  for (std::uint64_t slot = 1; slot <= 1000; ++slot) {
    if ((slot - 1) % config.preparing_max == 0) (void)plan();
    ASSERT_TRUE(ready(slot)) << slot;
  }
  EXPECT_EQ(plan(), "");
  for (std::uint64_t slot = 1; slot <= config.teardown_debt_max; ++slot) {
    EXPECT_EQ(lease(), slot);
    EXPECT_EQ(pool().teardown_debt(), slot);
  }
  EXPECT_EQ(cold(), "teardown debt: 16 slots are in use or not proved destroyed yet");
  ASSERT_TRUE(pool().slot_running({1}, now_) && pool().slot_ended({1}, now_));
  (void)plan();
  ASSERT_TRUE(pool().slot_destroyed({1}, kGone, now_));
  EXPECT_EQ(pool().teardown_debt(), 15U);
}

TEST_F(PoolTest, ServesFromALargerSetOnlyWhenToldSo) {
  for (const LargerSet larger : {LargerSet::kRefuse, LargerSet::kServe}) {
    PoolConfig config = some_config();
    config.larger_set = larger;
    begin(config, {some_class(kBare, 0), some_class(kNumpy)});
    warm_up(1);
    const Checkout checkout = pool().checkout("k", kBare, now_);
    EXPECT_EQ(checkout.level, larger == LargerSet::kServe ? Level::kHot : Level::kCold);
    EXPECT_EQ(checkout.preload, larger == LargerSet::kServe ? kNumpy : kBare);
  }
}

TEST_F(PoolTest, SaysWhyACheckoutIsCold) {
  SlotClass pandas = some_class(PreloadSet::kPandas, 0);
  pandas.slot_cost = mib(61);
  begin(some_config(), {some_class(), some_class(kNumpy), pandas});
  EXPECT_EQ(pool().checkout("other", kBare, now_).cause, ColdCause::kUnknownClass);
  EXPECT_EQ(cold(), "no zygote yet");
  EXPECT_EQ(plan(), "start bare 1, start numpy 2");
  EXPECT_EQ(cold(), "no zygote yet");
  ASSERT_TRUE(pool().nest_failed({2}, "no module numpy", now_));
  EXPECT_EQ(cold(kNumpy), "the zygote of numpy failed: no module numpy");
  EXPECT_EQ(cold(PreloadSet::kPandas),
            "preload set over the memory budget: pandas with one slot takes 101 MiB of 100 MiB, and others "
            "hold 14 MiB");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(cold(), "no slot is ready");
  (void)plan();
  ASSERT_TRUE(pool().slot_failed({1}, "fork: no memory", now_));
  EXPECT_EQ(cold(), "the last slot could not be made: fork: no memory");
  pool().stop("enough");
  EXPECT_EQ(cold(), "pool stopped: enough");
}

TEST_F(PoolTest, TriesAFailedNestAgainAfterABackOff) {
  begin(some_config(), {some_class()});
  const milliseconds first = some_config().backoff_min;
  EXPECT_EQ(plan(), "start bare 1");
  ASSERT_TRUE(pool().nest_failed({1}, "no", now_));
  EXPECT_EQ(plan(), "");
  ASSERT_EQ(pool().next_deadline(now_), now_ + first);
  now_ += first;
  EXPECT_EQ(plan(), "start bare 2");
  ASSERT_TRUE(pool().nest_failed({2}, "no", now_));
  ASSERT_EQ(pool().next_deadline(now_), now_ + first * 2);
}

TEST_F(PoolTest, GivesUpANestThatDoesNotStart) {
  begin(some_config(), {some_class()});
  EXPECT_EQ(plan(), "start bare 1");
  now_ += some_config().nest_start_max;
  EXPECT_EQ(plan(), "end 1");
  EXPECT_FALSE(pool().nest_ready({1}, now_));
  EXPECT_EQ(cold(), "the zygote of bare failed: it did not start within 30 s");
  ASSERT_TRUE(pool().nest_failed({1}, "killed", now_));
  EXPECT_TRUE(pool().nests().empty());
}

TEST_F(PoolTest, ReplacesANestAfterSoManyForksAndKeepsItsSlots) {
  PoolConfig config = some_config();
  config.nest_forks_max = 2;
  begin(config, {some_class(kBare, 2)});
  warm_up(2);
  EXPECT_EQ(plan(), "");
  EXPECT_EQ(pool().nests().at({1}).state, NestState::kDraining);
  EXPECT_EQ(lease(), 1u);
  EXPECT_EQ(plan(), "start bare 2");
  EXPECT_EQ(lease(), 2u);
  for (const std::uint64_t slot : {1u, 2u}) {
    ASSERT_TRUE(pool().slot_ended({slot}, now_));
    EXPECT_EQ(plan(), "destroy " + std::to_string(slot));
  }
  ASSERT_TRUE(pool().slot_destroyed({1}, kGone, now_));
  EXPECT_EQ(plan(), "");
  ASSERT_TRUE(pool().slot_destroyed({2}, kGone, now_));
  EXPECT_EQ(plan(), "end 1");
}

TEST_F(PoolTest, HandsOutNothingOfANestThatIsGone) {
  begin(some_config(), {some_class(kBare, 2)});
  warm_up(2);
  EXPECT_EQ(lease(), 1u);
  ASSERT_TRUE(pool().nest_gone({1}, "killed", now_));
  EXPECT_EQ(cold(), "the zygote of bare failed: killed");
  EXPECT_EQ(plan(), "destroy 2");
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  EXPECT_EQ(plan(), "destroy 1");
}

TEST_F(PoolTest, DestroysWhatWasParkedForTooLong) {
  begin(some_config(), {some_class()});
  warm_up(1);
  now_ += some_config().slot_age_max;
  EXPECT_EQ(cold(), "no slot is ready");
  EXPECT_EQ(plan(), "destroy 1, make 2 of 1 hot");
  EXPECT_EQ(pool().record({1})->death.why, "parked for longer than 300 s");
}

TEST_F(PoolTest, RefusesCheckoutsBeyondTheTeardownDebt) {
  PoolConfig config = some_config();
  config.teardown_debt_max = 1;
  begin(config, {some_class(kBare, 2)});
  warm_up(2);
  EXPECT_EQ(lease(), 1u);
  EXPECT_EQ(pool().checkout("k", kBare, now_).cause, ColdCause::kTeardownDebt);
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  (void)plan();
  EXPECT_EQ(pool().checkout("k", kBare, now_).cause, ColdCause::kTeardownDebt);
  ASSERT_TRUE(pool().slot_destroyed({1}, kGone, now_));
  EXPECT_EQ(lease(), 2u);
}

TEST_F(PoolTest, QuarantinesWhatIsNotProvedGone) {
  begin(some_config(), {some_class()});
  warm_up(1);
  EXPECT_EQ(lease(), 1u);
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  (void)plan();
  DeathProof proof = kGone;
  proof.layer_released = RowState::kUnavailable;
  const Result<SlotState> ended = pool().slot_destroyed({1}, proof, now_);
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, SlotState::kQuarantined);
  EXPECT_FALSE(pool().slot_destroyed({1}, kGone, now_)) << "and it stays so";
  EXPECT_EQ(pool().record({1})->death.quarantined_for,
            "its destruction was not shown: layer_released is unavailable");
}

TEST_F(PoolTest, DestroysASlotWhoseAuditMissesAWall) {
  SlotClass waived = some_class(kNumpy);
  waived.waived = {"landlock"};
  begin(some_config(), {some_class(), waived});
  EXPECT_EQ(plan(), "start bare 1, start numpy 2");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  ASSERT_TRUE(pool().nest_ready({2}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 2 hot");
  for (const std::uint64_t slot : {1u, 2u}) {
    BirthRecord record = birth(slot);
    record.rows.push_back({"landlock", RowState::kUnavailable, "files again"});
    ASSERT_TRUE(pool().slot_ready({slot}, Level::kHot, record, now_));
  }
  EXPECT_EQ(cold(), "the last slot could not be made: its audit says: landlock is unavailable");
  EXPECT_EQ(lease(kNumpy), 2u);
}

TEST_F(PoolTest, StopsWhenADestroyedVolumeReappears) {
  begin(some_config(), {some_class()});
  warm_up(1);
  EXPECT_EQ(lease(), 1u);
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  EXPECT_EQ(plan(), "destroy 1, make 2 of 1 hot");
  ASSERT_TRUE(pool().slot_destroyed({1}, kGone, now_));
  const Result<void> took = pool().slot_ready({2}, Level::kHot, birth(1), now_);
  ASSERT_FALSE(took);
  EXPECT_EQ(took.error().code, ErrorCode::kDenied);
  EXPECT_EQ(cold(), "pool stopped: slot 2 has the volume v1, which was another slot's");
  EXPECT_EQ(plan(), "destroy 2");
  ASSERT_TRUE(pool().slot_destroyed({2}, kGone, now_));
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_gone({1}, "", now_));
  EXPECT_TRUE(pool().empty());
}

TEST_F(PoolTest, RefusesEventsThatDoNotFit) {
  begin(some_config(), {some_class()});
  warm_up(1);
  EXPECT_FALSE(ready(1)) << "twice";
  EXPECT_FALSE(ready(9)) << "nobody's";
  EXPECT_FALSE(pool().nest_ready({1}, now_)) << "twice";
  EXPECT_FALSE(pool().nest_failed({1}, "", now_)) << "it started";
  EXPECT_FALSE(pool().slot_running({1}, now_)) << "not leased";
  EXPECT_FALSE(pool().slot_destroyed({1}, kGone, now_)) << "nobody destroys it";
  EXPECT_EQ(lease(), 1u);
  EXPECT_EQ(plan(), "make 2 of 1 hot");
  const Result<void> failed = pool().slot_quarantined({2}, "creating", now_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalid);
}

TEST_F(PoolTest, ForgetsTheClassThatIsLongestUnused) {
  begin(some_config(), {});
  for (std::size_t i = 0; i < kPoolClassesMax; ++i) {
    SlotClass some = some_class(kBare, i == 0 ? 1 : 0);
    some.key = std::to_string(i);
    ASSERT_TRUE(pool().add_class(some));
    (void)pool().checkout(some.key, kBare, now_ + seconds{i == 1 ? 100 : static_cast<int>(i)});
  }
  ASSERT_TRUE(pool().add_class(some_class(kBare, 1)));
  EXPECT_TRUE(pool().knows("0", kBare)) << "its slots are kept";
  EXPECT_FALSE(pool().knows("2", kBare));
  EXPECT_EQ(pool().classes().size(), kPoolClassesMax);
  EXPECT_FALSE(pool().add_class(some_class(kBare, 1))) << "twice";
}

}  // namespace
}  // namespace casemate::pool
