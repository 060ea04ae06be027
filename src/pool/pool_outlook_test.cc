#include "pool/test_support.h"

namespace casemate::pool {
namespace {

class Outlook : public PoolTest {
 protected:
  std::string hopeless(PreloadSet preload = kBare) {
    return pool().hopeless("k", preload, now_).value_or("");
  }
};

TEST_F(Outlook, AZygoteMayFailOnceAndNotTwice) {
  begin(some_config(), {some_class()});
  EXPECT_EQ(hopeless(), "");
  EXPECT_EQ(plan(), "start bare 1");
  ASSERT_TRUE(pool().nest_failed({1}, "no libblas", now_));
  EXPECT_EQ(hopeless(), "");
  now_ += seconds{10};
  EXPECT_EQ(plan(), "start bare 2");
  EXPECT_EQ(hopeless(), "");
  ASSERT_TRUE(pool().nest_failed({2}, "no libblas", now_));
  EXPECT_EQ(hopeless(), "the zygote of bare failed: no libblas");
}

// A host that stands still for a moment costs a slot or two.
TEST_F(Outlook, SlotsMayFailUntilTheirNestIsGivenUpTwice) {
  begin(some_config(), {some_class()});
  std::uint64_t slot = 0;
  for (std::uint64_t nest = 1; nest <= 2; ++nest) {
    EXPECT_EQ(hopeless(), "");
    EXPECT_EQ(plan(), "start bare " + std::to_string(nest));
    ASSERT_TRUE(pool().nest_ready({nest}, now_));
    for (int failed = 0; failed < 3; ++failed) {
      EXPECT_EQ(hopeless(), "");
      EXPECT_EQ(plan(), "make " + std::to_string(++slot) + " of " + std::to_string(nest) + " hot");
      ASSERT_TRUE(pool().slot_failed({slot}, "no ids", now_));
      EXPECT_EQ(plan(), "destroy " + std::to_string(slot));
      ASSERT_TRUE(pool().slot_destroyed({slot}, kGone, now_));
      if (failed < 2) now_ += seconds{10};
    }
    EXPECT_EQ(plan(), "end " + std::to_string(nest));
    ASSERT_TRUE(pool().nest_gone({nest}, "", now_));
    now_ += seconds{60};
  }
  EXPECT_EQ(hopeless(), "the zygote of bare failed: it made no slot 3 times: no ids");
}

TEST_F(Outlook, WhatDoesNotFitWillNot) {
  PoolConfig config = some_config();
  config.memory_budget = mib(40);
  begin(config, {some_class(PreloadSet::kPandas)});
  EXPECT_EQ(hopeless(PreloadSet::kPandas).substr(0, 35), "preload set over the memory budget:");
}

TEST_F(Outlook, NobodyWaitsForAClassThatIsNotKeptOrAPoolThatStopped) {
  begin(some_config(), {some_class()});
  EXPECT_EQ(hopeless(kNumpy), "no slots are kept for this class");
  pool().stop("it is over");
  EXPECT_EQ(hopeless(), "pool stopped: it is over");
}

}  // namespace
}  // namespace casemate::pool
