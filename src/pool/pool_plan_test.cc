// Who gets what there is: memory, nests and turns.
#include <gtest/gtest.h>

#include <string>

#include "pool/pool.h"
#include "pool/test_support.h"

namespace casemate::pool {
namespace {

TEST_F(PoolTest, StaysWithinTheMemoryBudget) {
  PoolConfig config = some_config();
  config.memory_budget = mib(22);
  begin(config, {some_class(kBare, 4)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 1 hot, make 3 of 1 hot");
  EXPECT_EQ(pool().memory_used(), mib(22));
}

TEST_F(PoolTest, TakesMemoryFromClassesThatNobodyAsksFor) {
  PoolConfig config = some_config();
  config.memory_budget = mib(30);
  begin(config, {some_class(kBare, 4), some_class(kNumpy, 0)});
  warm_up(4);
  EXPECT_EQ(cold(kNumpy), "no zygote yet");
  EXPECT_EQ(plan(), "destroy 1, destroy 2, destroy 3, destroy 4");
  for (const std::uint64_t slot : {1u, 2u, 3u, 4u}) ASSERT_TRUE(pool().slot_destroyed({slot}, kGone, now_));
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_gone({1}, "", now_));
  EXPECT_EQ(plan(), "start numpy 2");
}

TEST_F(PoolTest, ServesInTurnsThoseWhoHaveRoomForOneSlotTogether) {
  PoolConfig config = some_config();
  config.memory_budget = mib(38);
  begin(config, {some_class(), some_class(kNumpy)});
  EXPECT_EQ(plan(), "start bare 1, start numpy 2");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  ASSERT_TRUE(pool().nest_ready({2}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 2 hot");
  ASSERT_TRUE(ready(1));
  ASSERT_TRUE(ready(2));
  EXPECT_EQ(lease(), 1u);
  ASSERT_TRUE(pool().slot_quarantined({1}, "it is odd", now_));
  EXPECT_EQ(lease(kNumpy), 2u);
  for (std::uint64_t slot = 2; slot <= 6; ++slot) {
    ASSERT_TRUE(pool().slot_ended({slot}, now_));
    EXPECT_EQ(plan(), "destroy " + std::to_string(slot));
    ASSERT_TRUE(pool().slot_destroyed({slot}, kGone, now_));
    const bool bares = slot % 2 == 0;
    EXPECT_EQ(plan(), "make " + std::to_string(slot + 1) + (bares ? " of 1 hot" : " of 2 hot"));
    ASSERT_TRUE(ready(slot + 1));
    EXPECT_EQ(lease(bares ? kBare : kNumpy), slot + 1);
  }
}

// It would need the memory that the bare nest's only slot takes, again and again.
TEST_F(PoolTest, StartsNoNestThatLeavesAnotherWithoutASlot) {
  PoolConfig config = some_config();
  config.memory_budget = mib(34);
  begin(config, {some_class(), some_class(kNumpy)});
  warm_up(1);
  EXPECT_EQ(lease(), 1u);
  EXPECT_EQ(pool().checkout("k", kNumpy, now_).cause, ColdCause::kOverBudget);
  EXPECT_EQ(plan(), "make 2 of 1 hot");
}

TEST_F(PoolTest, LetsOthersPassWhoCanNeverFit) {
  SlotClass large = some_class(kBare, 0);
  large.key = "large";
  large.slot_cost = mib(80);
  begin(some_config(), {some_class(), some_class(kNumpy), large});
  EXPECT_EQ(plan(), "start bare 1, start numpy 2");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  ASSERT_TRUE(pool().nest_ready({2}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 2 hot");
  ASSERT_TRUE(ready(1));
  ASSERT_TRUE(ready(2));
  EXPECT_EQ(lease(kNumpy), 2u);
  EXPECT_EQ(pool().checkout("large", kBare, now_).cause, ColdCause::kOverBudget);
  EXPECT_EQ(plan(), "make 3 of 2 hot");
}

TEST_F(PoolTest, ReplacesANestThatMakesNoSlots) {
  begin(some_config(), {some_class()});
  EXPECT_EQ(plan(), "start bare 1");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  for (std::uint64_t slot = 1; slot <= 3; ++slot) {
    EXPECT_EQ(plan(), "make " + std::to_string(slot) + " of 1 hot");
    ASSERT_TRUE(pool().slot_failed({slot}, "no", now_));
    EXPECT_EQ(plan(), "destroy " + std::to_string(slot));
    ASSERT_TRUE(pool().slot_destroyed({slot}, kGone, now_));
    if (slot < 3) now_ += seconds{10};
  }
  EXPECT_EQ(plan(), "end 1");
}

}  // namespace
// A slot takes 20 ms to become hot here.
class Behind : public PoolTest {
 protected:
  void SetUp() override {
    SlotClass some = some_class(kBare, 1);
    some.hot_max = 1;
    begin(some_config(), {some});
    (void)plan();
    ASSERT_TRUE(pool().nest_ready({1}, now_).has_value());
    EXPECT_EQ(plan(), "make 1 of 1 hot");
    now_ += milliseconds{20};
    ASSERT_TRUE(ready(1));
  }
  // A run of a slot, from the checkout to the proof; what is to be made meanwhile.
  std::string run_one() {
    const std::uint64_t slot = lease();
    EXPECT_TRUE(pool().slot_ended({slot}, now_));
    std::string made = plan();
    EXPECT_TRUE(pool().slot_destroyed({slot}, kGone, now_));
    return made;
  }
};

TEST_F(Behind, WhoFindsNoneIsMadeWarmOnes) {
  EXPECT_EQ(run_one(), "destroy 1, make 2 of 1 hot");
  EXPECT_NE(cold(), "");
  now_ += milliseconds{20};
  ASSERT_TRUE(ready(2));
  EXPECT_EQ(run_one(), "destroy 2, make 3 of 1 warm");
  ASSERT_TRUE(ready(3, Level::kWarm));
  EXPECT_EQ(pool().record({3})->level, Level::kWarm);
  now_ += milliseconds{200};
  EXPECT_EQ(run_one(), "destroy 3, make 4 of 1 hot");
}

TEST_F(Behind, WhoAlwaysFindsOneIsMadeHotOnes) {
  for (std::uint64_t slot = 2; slot < 10; ++slot) {
    EXPECT_EQ(run_one(),
              "destroy " + std::to_string(slot - 1) + ", make " + std::to_string(slot) + " of 1 hot");
    now_ += milliseconds{1};
    ASSERT_TRUE(ready(slot));
  }
}

TEST_F(Behind, WhenThereIsTimeAgainAHotOneTakesItsPlace) {
  pool().lacks("k", kBare, now_);
  EXPECT_EQ(run_one(), "destroy 1, make 2 of 1 warm");
  ASSERT_TRUE(ready(2, Level::kWarm));
  EXPECT_EQ(plan(), "");
  const auto next = pool().next_deadline(now_);
  ASSERT_TRUE(next.has_value());
  EXPECT_LE(*next, now_ + milliseconds{200});
  EXPECT_GT(*next, now_ + milliseconds{150});
  now_ = *next;
  EXPECT_EQ(plan(), "destroy 2, make 3 of 1 hot");
  ASSERT_TRUE(pool().slot_destroyed({2}, kGone, now_));
  ASSERT_TRUE(ready(3));
  EXPECT_EQ(plan(), "");
}

TEST_F(Behind, AHotOneIsTriedAgainNowAndThen) {
  std::uint64_t slot = 2;
  for (;; ++slot) {
    now_ += milliseconds{3};
    pool().lacks("k", kBare, now_);
    now_ += milliseconds{1};
    if (run_one().ends_with("hot")) break;
    ASSERT_LT(slot, 200u);
    ASSERT_TRUE(ready(slot, Level::kWarm));
  }
  EXPECT_GT(slot, 40u);
}

TEST_F(Behind, WhatNobodyKnowsIsNotLacking) {
  pool().lacks("another", kBare, now_);
  EXPECT_EQ(run_one(), "destroy 1, make 2 of 1 hot");
}

}  // namespace casemate::pool
