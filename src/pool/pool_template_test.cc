// Classes whose slots are restored: their nests are saved machines, which take long to make and cost much.
#include "pool/test_support.h"

namespace casemate::pool {
namespace {

PoolConfig template_config() {
  PoolConfig config = some_config();
  config.memory_budget = mib(400);
  config.template_cost = {mib(144), mib(176), mib(288)};
  return config;
}

SlotClass template_class(std::size_t hot_min) {
  SlotClass some = some_class(kBare, hot_min);
  some.origin = Origin::kTemplate;
  some.slot_cost = mib(80);
  return some;
}

TEST_F(PoolTest, ATemplateCostsWhatATemplateCosts) {
  begin(template_config(), {template_class(4)});
  EXPECT_EQ(plan(), "start bare 1");
  EXPECT_EQ(pool().memory_used().count, mib(144).count);
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  // With a nest of 10 MiB there would be room for four.
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 1 hot, make 3 of 1 hot");
  EXPECT_EQ(pool().memory_used().count, mib(144 + 3 * 80).count);
}

TEST_F(PoolTest, ATemplateThatDoesNotFitIsNotBegun) {
  PoolConfig config = template_config();
  config.memory_budget = mib(144 + 79);
  begin(config, {template_class(1)});
  EXPECT_EQ(plan(), "");
  ASSERT_TRUE(pool().hopeless("k", kBare, now_));
  EXPECT_EQ(cold(), "preload set over the memory budget: bare with one slot takes 224 MiB of 223 MiB");
}

TEST_F(PoolTest, ATemplateIsGivenItsOwnTime) {
  begin(template_config(), {template_class(1)});
  EXPECT_EQ(plan(), "start bare 1");
  now_ += template_config().nest_start_max * 2;
  EXPECT_EQ(plan(), "");
  EXPECT_EQ(pool().next_deadline(now_),
            now_ + (template_config().template_start_max - template_config().nest_start_max * 2));
  now_ += template_config().template_start_max;
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_gone({1}, "", now_));
  EXPECT_FALSE(pool().nest_ready({1}, now_)) << "late";
  now_ += template_config().backoff_min * 2;
  EXPECT_EQ(plan(), "start bare 2");
}

// A slot without rehearsal is quicker where it is forked; one that is restored is what its template was.
TEST_F(PoolTest, ARestoredSlotIsNeverMadeWarmForLackOfTime) {
  PoolConfig config = template_config();
  config.memory_budget = gib(4);
  begin(config, {template_class(2)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  EXPECT_EQ(plan(), "make 1 of 1 hot, make 2 of 1 hot");
  now_ += seconds{1};  // that long a hot one takes
  ASSERT_TRUE(ready(1));
  ASSERT_TRUE(ready(2));
  EXPECT_EQ(lease(), 1U);
  EXPECT_EQ(lease(), 2U);
  EXPECT_EQ(lease(), 0U);
  pool().lacks("k", kBare, now_);
  EXPECT_EQ(plan(), "make 3 of 1 hot, make 4 of 1 hot, make 5 of 1 hot");
}

TEST_F(PoolTest, ATemplateThatFailsIsTriedAgainAsAZygoteIs) {
  begin(template_config(), {template_class(1)});
  EXPECT_EQ(plan(), "start bare 1");
  ASSERT_TRUE(pool().nest_failed({1}, "no kernel", now_));
  EXPECT_EQ(plan(), "");
  EXPECT_FALSE(pool().hopeless("k", kBare, now_)) << "once may be chance";
  now_ += template_config().backoff_min * 2;
  EXPECT_EQ(plan(), "start bare 2");
  ASSERT_TRUE(pool().nest_failed({2}, "no kernel", now_));
  ASSERT_TRUE(pool().hopeless("k", kBare, now_));
  EXPECT_NE(pool().hopeless("k", kBare, now_)->find("no kernel"), std::string::npos);
}

// One slot that fails is not the template's fault, three in a row are.
TEST_F(PoolTest, ATemplateThatRestoresNothingIsMadeAnew) {
  begin(template_config(), {template_class(1)});
  (void)plan();
  ASSERT_TRUE(pool().nest_ready({1}, now_));
  for (std::uint64_t slot = 1; slot <= 3; ++slot) {
    EXPECT_EQ(plan(), "make " + std::to_string(slot) + " of 1 hot");
    ASSERT_TRUE(pool().slot_failed({slot}, "bad state", now_));
    EXPECT_EQ(plan(), "destroy " + std::to_string(slot));
    ASSERT_TRUE(pool().slot_destroyed({slot}, kGone, now_));
    now_ += template_config().backoff_max;
  }
  EXPECT_EQ(plan(), "start bare 2, end 1");
}

// Machines of one template share address layout and hash seeds with it, as forks do with a zygote.
TEST_F(PoolTest, ATemplateIsReplacedWhenItIsOldOrHasRestoredMany) {
  for (const bool old : {true, false}) {
    PoolConfig config = template_config();
    config.memory_budget = gib(4);
    config.nest_forks_max = old ? 100 : 1;
    config.slot_age_max = config.nest_age_max * 10;
    begin(config, {template_class(1)});
    (void)plan();
    ASSERT_TRUE(pool().nest_ready({1}, now_));
    EXPECT_EQ(plan(), "make 1 of 1 hot");
    ASSERT_TRUE(ready(1));
    if (old) now_ += config.nest_age_max;
    (void)plan();
    EXPECT_EQ(lease(), 1U) << "what it restored lives on";
    (void)plan();
    ASSERT_TRUE(pool().slot_running({1}, now_) && pool().slot_ended({1}, now_));
    (void)plan();
    ASSERT_TRUE(pool().slot_destroyed({1}, kGone, now_));
    (void)plan();
    ASSERT_TRUE(pool().nest_gone({1}, "", now_));
    EXPECT_TRUE(pool().nests().contains({2}));
  }
}

TEST_F(PoolTest, AStoppedPoolEndsATemplateThatIsBeingMade) {
  begin(template_config(), {template_class(1)});
  EXPECT_EQ(plan(), "start bare 1");
  pool().stop("its casemate ends");
  EXPECT_EQ(plan(), "end 1");
  ASSERT_TRUE(pool().nest_failed({1}, "it was given up", now_) ||
              pool().nest_gone({1}, "it was given up", now_));
  EXPECT_TRUE(pool().empty());
}

}  // namespace
}  // namespace casemate::pool
