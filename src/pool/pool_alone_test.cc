// Classes whose slots are forked from nothing: their nests are there in name.
#include "pool/test_support.h"

namespace casemate::pool {
namespace {

SlotClass alone_class(std::size_t hot_min) {
  SlotClass some = some_class(kBare, hot_min);
  some.origin = Origin::kAlone;
  some.slot_cost = mib(40);
  return some;
}

TEST_F(PoolTest, TheNestOfAloneSlotsCostsNothing) {
  begin(some_config(), {alone_class(2)});
  EXPECT_EQ(plan(), "start bare 1");
  EXPECT_EQ(pool().memory_used().count, 0u);
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  // With a nest of 10 MiB the second would not fit in 100.
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 1 hot");
  EXPECT_EQ(pool().memory_used().count, mib(80).count);
  ASSERT_TRUE(ready(1));
  ASSERT_TRUE(ready(2));
  EXPECT_EQ(lease(), 1u);
}

TEST_F(PoolTest, WaitingForAloneSlotsIsHopelessWhenTwoHaveFailed) {
  begin(some_config(), {alone_class(1)});
  EXPECT_EQ(plan(), "start bare 1");
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot");
  ASSERT_TRUE(pool().slot_failed({1}, "no runtime", now_));
  EXPECT_FALSE(pool().hopeless("k", kBare, now_));
  EXPECT_EQ(plan(), "destroy 1");
  ASSERT_TRUE(pool().slot_destroyed({1}, {RowState::kOn, RowState::kOn, RowState::kOn, RowState::kOn}, now_));
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_gone({1}, "", now_));
  now_ += some_config().backoff_min * 2;
  EXPECT_EQ(plan(), "start bare 2");
  ASSERT_TRUE(pool().nest_ready({2}, now_));
  EXPECT_EQ(plan(), "make 2 of 2 hot");
  ASSERT_TRUE(pool().slot_failed({2}, "no runtime", now_));
  ASSERT_TRUE(pool().hopeless("k", kBare, now_));
  EXPECT_NE(pool().hopeless("k", kBare, now_)->find("no runtime"), std::string::npos);
}

TEST_F(PoolTest, AnAloneSlotThatSaysThatItIsAtItIsGivenItsTimeAnew) {
  begin(some_config(), {alone_class(1)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot");
  now_ += some_config().slot_create_max * 3;  // nobody has looked
  ASSERT_TRUE(pool().slot_alive({1}, now_));
  EXPECT_EQ(plan(), "");
  now_ += some_config().slot_create_max;
  EXPECT_EQ(plan(), "destroy 1");
  EXPECT_FALSE(pool().slot_alive({1}, now_));
}

TEST_F(PoolTest, AStoppedPoolOfAloneSlotsEmpties) {
  begin(some_config(), {alone_class(1)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  (void)plan();
  ASSERT_TRUE(ready(1));
  pool().stop("its casemate ends");
  EXPECT_EQ(plan(), "destroy 1");
  ASSERT_TRUE(pool().slot_destroyed({1}, {RowState::kOn, RowState::kOn, RowState::kOn, RowState::kOn}, now_));
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_gone({1}, "", now_));
  EXPECT_TRUE(pool().empty());
}

}  // namespace
}  // namespace casemate::pool
