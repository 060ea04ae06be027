// Nests that are sandboxes: one slot at a time in each, one after the other.
#include <algorithm>

#include "pool/test_support.h"

namespace casemate::pool {
namespace {

constexpr CleanProof kClean{RowState::kOn, RowState::kOn, RowState::kOn};

SlotClass shared_class(std::size_t hot_min, const std::string& name = "k") {
  SlotClass some = some_class(kBare, hot_min);
  some.key = some.image = name;
  some.origin = Origin::kShared;
  some.hot_max = std::max<std::size_t>(hot_min, 1);
  return some;
}

PoolConfig shared_config() {
  PoolConfig config = some_config();
  config.sandbox_cost = {mib(20), mib(30), mib(40)};
  return config;
}

class SharedPoolTest : public PoolTest {
 protected:
  // Two sandboxes with a hot slot each: 1 of 1 and 2 of 2.
  void begin_with_two() {
    begin(shared_config(), {shared_class(2)});
    EXPECT_EQ(plan(), "start bare 1");
    ASSERT_TRUE(pool().nest_ready({1}, now_));
    EXPECT_EQ(plan(), "make 1 of 1 hot, start bare 2");
    ASSERT_TRUE(pool().nest_ready({2}, now_));
    EXPECT_EQ(plan(), "make 2 of 2 hot");
    ASSERT_TRUE(ready(1));
    ASSERT_TRUE(ready(2));
    EXPECT_EQ(plan(), "");
  }
  void run(std::uint64_t slot) {
    ASSERT_EQ(lease(), slot);
    ASSERT_TRUE(pool().slot_running({slot}, now_));
    EXPECT_EQ(plan(), "") << "its sandbox is to have the next one: no other is made meanwhile";
    ASSERT_TRUE(pool().slot_ended({slot}, now_));
  }
};

TEST_F(SharedPoolTest, ASandboxHasItsNextSlotWhenTheLastIsShownToBeGone) {
  begin_with_two();
  EXPECT_EQ(pool().memory_used().count, mib(2 * 20 + 2 * 4).count);
  run(1);
  EXPECT_EQ(plan(), "destroy 1");
  EXPECT_EQ(plan(), "") << "before the proof nothing is made in it";
  const auto ended = pool().slot_cleaned({1}, kClean, now_);
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, SlotState::kDestroyed);
  EXPECT_EQ(pool().record({1})->death.rows.size(), 3U);
  EXPECT_EQ(plan(), "make 3 of 1 hot");
}

TEST_F(SharedPoolTest, WhatIsNotShownIsQuarantinedAndItsSandboxEnded) {
  for (const CleanProof& proof : {CleanProof{RowState::kOff, RowState::kOn, RowState::kOn},
                                  CleanProof{RowState::kOn, RowState::kOff, RowState::kOn},
                                  CleanProof{RowState::kOn, RowState::kOn, RowState::kUnavailable}}) {
    begin_with_two();
    run(1);
    EXPECT_EQ(plan(), "destroy 1");
    const auto ended = pool().slot_cleaned({1}, proof, now_);
    ASSERT_TRUE(ended);
    EXPECT_EQ(*ended, SlotState::kQuarantined);
    EXPECT_EQ(plan(), "start bare 3, end 1");
  }
}

TEST_F(SharedPoolTest, ASandboxThatIsSpentEndsWithItsSlot) {
  begin_with_two();
  ASSERT_EQ(lease(), 1U);
  ASSERT_TRUE(pool().nest_spent({1}));
  EXPECT_FALSE(pool().nest_spent({1})) << "twice";
  EXPECT_EQ(plan(), "start bare 3") << "another one in its place, while its run goes on";
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  EXPECT_EQ(plan(), "destroy 1");
  ASSERT_TRUE(pool().slot_destroyed({1}, kGone, now_));
  EXPECT_EQ(plan(), "end 1");
  EXPECT_FALSE(pool().hopeless("k", kBare, now_));
}

TEST_F(SharedPoolTest, ASlotThatCannotBeMadeEndsItsSandbox) {
  begin(shared_config(), {shared_class(1)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot");
  ASSERT_TRUE(pool().slot_failed({1}, "no memory", now_));
  EXPECT_EQ(plan(), "destroy 1");
  ASSERT_TRUE(pool().slot_cleaned({1}, kClean, now_));
  EXPECT_EQ(plan(), "end 1");
  EXPECT_NE(cold().find("no memory"), std::string::npos) << cold();
}

TEST_F(SharedPoolTest, ASandboxIsReplacedAfterSoManySlots) {
  PoolConfig config = shared_config();
  config.nest_forks_max = 2;
  begin(config, {shared_class(1)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot");
  ASSERT_TRUE(ready(1));
  run(1);
  EXPECT_EQ(plan(), "destroy 1");
  ASSERT_TRUE(pool().slot_cleaned({1}, kClean, now_));
  EXPECT_EQ(plan(), "make 2 of 1 hot");
  ASSERT_TRUE(ready(2));
  EXPECT_EQ(plan(), "");
  ASSERT_EQ(lease(), 2U) << "its last slot is as good as any";
  EXPECT_EQ(plan(), "start bare 2") << "it has forked as often as it may";
  ASSERT_TRUE(pool().slot_ended({2}, now_));
  EXPECT_EQ(plan(), "destroy 2");
  ASSERT_TRUE(pool().slot_cleaned({2}, kClean, now_));
  EXPECT_EQ(plan(), "end 1");
}

TEST_F(SharedPoolTest, ASandboxThatNobodyWantsAnyMoreIsEnded) {
  SlotClass some = shared_class(1);
  some.hot_max = 2;
  begin(shared_config(), {some});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot");
  ASSERT_TRUE(ready(1));
  run(1);
  (void)cold();  // two in a minute
  EXPECT_EQ(plan(), "destroy 1, start bare 2");
  ASSERT_TRUE(pool().nest_ready({2}, now_));
  ASSERT_TRUE(pool().slot_cleaned({1}, kClean, now_));
  EXPECT_EQ(plan(), "make 2 of 1 hot, make 3 of 2 hot");
  ASSERT_TRUE(ready(2));
  ASSERT_TRUE(ready(3));
  now_ += kDemandWindow + 2 * kDemandFall;
  EXPECT_EQ(plan(), "destroy 2");
  ASSERT_TRUE(pool().slot_cleaned({2}, kClean, now_));
  EXPECT_EQ(plan(), "end 1");
}

TEST_F(SharedPoolTest, FurtherSandboxesGiveWayToAnothersFirst) {
  PoolConfig config = shared_config();
  config.memory_budget = mib(55);  // of two with their slots
  begin(config, {shared_class(2, "k"), shared_class(0, "other")});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, start bare 2");
  ASSERT_TRUE(pool().nest_ready({2}, now_));
  EXPECT_EQ(plan(), "make 2 of 2 hot");
  ASSERT_TRUE(ready(1));
  ASSERT_TRUE(ready(2));
  ASSERT_EQ(lease(), 1U);
  EXPECT_EQ(pool().checkout("other", kBare, now_).cause, ColdCause::kNoNest);
  EXPECT_EQ(plan(), "") << "none is empty";
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  EXPECT_EQ(plan(), "destroy 1");
  ASSERT_TRUE(pool().slot_cleaned({1}, kClean, now_));
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_gone({1}, "", now_));
  EXPECT_EQ(plan(), "start bare 3");
  EXPECT_EQ(pool().nests().at({3}).line.image, "other");
  EXPECT_EQ(lease(), 2U);
}

TEST_F(SharedPoolTest, OnlyASlotOfASandboxIsCleaned) {
  begin(some_config(), {some_class()});
  warm_up(1);
  ASSERT_EQ(lease(), 1U);
  ASSERT_TRUE(pool().slot_ended({1}, now_));
  EXPECT_EQ(plan(), "destroy 1, make 2 of 1 hot");
  EXPECT_FALSE(pool().slot_cleaned({1}, kClean, now_));
  EXPECT_TRUE(pool().slot_destroyed({1}, kGone, now_));
}

}  // namespace
}  // namespace casemate::pool
