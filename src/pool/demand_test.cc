#include "pool/demand.h"

#include <gtest/gtest.h>

namespace casemate::pool {
namespace {

constexpr Instant kStart = Instant{} + std::chrono::hours{1};

TEST(Demand, StartsAtItsMinimum) {
  Demand demand(2, 5);
  demand.settle(kStart);
  EXPECT_EQ(demand.target(), 2u);
  EXPECT_FALSE(demand.recent(kStart));
  EXPECT_FALSE(demand.next_change(kStart));
}

TEST(Demand, RisesAtOnceToItsMaximum) {
  Demand demand(0, 3);
  for (std::size_t asked = 1; asked <= 5; ++asked) {
    demand.asked(kStart);
    EXPECT_EQ(demand.target(), std::min<std::size_t>(asked, 3));
  }
}

TEST(Demand, IsHeldForAMinuteAndFallsOneByOne) {
  Demand demand(1, 4);
  for (int i = 0; i < 4; ++i) demand.asked(kStart);
  demand.settle(kStart + kDemandWindow - milliseconds{1});
  EXPECT_EQ(demand.target(), 4u);
  demand.settle(kStart + kDemandWindow);
  EXPECT_EQ(demand.target(), 3u);
  demand.settle(kStart + kDemandWindow + kDemandFall);
  EXPECT_EQ(demand.target(), 2u);
  demand.settle(kStart + std::chrono::hours{24});
  EXPECT_EQ(demand.target(), 1u);
}

TEST(Demand, SettlesTheSameInOneStepAsInMany) {
  Demand often(0, 8), seldom(0, 8);
  for (int i = 0; i < 8; ++i) {
    often.asked(kStart + std::chrono::seconds{i * 7});
    seldom.asked(kStart + std::chrono::seconds{i * 7});
  }
  for (int second = 50; second < 130; ++second) {
    often.settle(kStart + std::chrono::seconds{second});
    Demand once = seldom;
    once.settle(kStart + std::chrono::seconds{second});
    EXPECT_EQ(often.target(), once.target()) << second;
  }
}

TEST(Demand, SaysWhenItChanges) {
  Demand demand(0, 1);
  demand.asked(kStart);
  Instant at = kStart;
  std::size_t changes = 0;
  while (const auto next = demand.next_change(at)) {
    ASSERT_GT(*next, at);
    ASSERT_LT(++changes, 100u);
    const std::size_t target = demand.target();
    const bool recent = demand.recent(at);
    demand.settle(*next - milliseconds{1});
    EXPECT_EQ(demand.target(), target);
    EXPECT_EQ(demand.recent(*next - milliseconds{1}), recent);
    at = *next;
    demand.settle(at);
  }
  EXPECT_EQ(demand.target(), 0u);
  EXPECT_FALSE(demand.recent(at));
}

TEST(Demand, OfAClassWithoutHotSlotsStaysAtNone) {
  Demand demand(0, 0);
  for (int i = 0; i < 10; ++i) demand.asked(kStart);
  EXPECT_EQ(demand.target(), 0u);
  EXPECT_TRUE(demand.recent(kStart));
}

}  // namespace
}  // namespace casemate::pool
