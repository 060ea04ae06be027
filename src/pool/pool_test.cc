#include "pool/pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/limits.h"

namespace casemate::pool {
namespace {

using std::chrono::seconds;

constexpr PreloadSet kBare = PreloadSet::kBare;
constexpr PreloadSet kNumpy = PreloadSet::kNumpy;
constexpr DeathProof kGone{RowState::kOn, RowState::kOn, RowState::kOn, RowState::kOn};

PoolConfig some_config() {
  PoolConfig config;
  config.memory_budget = mib(100);
  config.nest_cost = {mib(10), mib(20), mib(40)};
  config.preparing_max = 4;
  return config;
}

SlotClass some_class(PreloadSet preload = kBare, std::size_t hot_min = 1) {
  SlotClass some;
  some.key = "k";
  some.image = "i";
  some.preload = preload;
  some.hot_min = hot_min;
  return some;
}

// A pool and an engine that does at once, and well, what a test tells it to do.
class PoolTest : public testing::Test {
 protected:
  void begin(const PoolConfig& config, const std::vector<SlotClass>& classes) {
    Result<Pool> made = Pool::make(config);
    ASSERT_TRUE(made.has_value());
    pool_.emplace(std::move(*made));
    for (const SlotClass& each : classes) ASSERT_TRUE(pool_->add_class(each).has_value());
  }
  Pool& pool() { return *pool_; }

  // "start bare 1, make 2 of 1 hot, destroy 2, end 1".
  std::string plan() {
    std::string text;
    for (const Action& action : pool().plan(now_)) {
      if (!text.empty()) text += ", ";
      text += std::visit([](const auto& each) { return described(each); }, action);
    }
    return text;
  }
  BirthRecord birth(std::uint64_t slot) {
    BirthRecord record;
    record.volume = "v" + std::to_string(slot);
    record.rows = {{"seccomp", RowState::kOn, "no other system call"}};
    return record;
  }
  Result<void> ready(std::uint64_t slot, Level level = Level::kHot) {
    return pool().slot_ready({slot}, level, birth(slot), now_);
  }
  // One nest and `count` hot slots, 1 to count.
  void warm_up(std::uint64_t count) {
    (void)plan();
    ASSERT_TRUE(pool().nest_ready({1}, now_).has_value());
    for (std::uint64_t slot = 1; slot <= count; ++slot) {
      (void)plan();
      ASSERT_TRUE(ready(slot).has_value()) << slot;
    }
  }
  std::uint64_t lease(PreloadSet preload = kBare) { return pool().checkout("k", preload, now_).slot.value; }
  std::string cold(PreloadSet preload = kBare) { return pool().checkout("k", preload, now_).reason; }

  Instant now_ = Instant{} + seconds{1000};

 private:
  static std::string described(const StartNest& action) {
    return std::string("start ") + preload_name(action.preload) + " " + std::to_string(action.nest.value);
  }
  static std::string described(const MakeSlot& action) {
    return "make " + std::to_string(action.slot.value) + " of " + std::to_string(action.nest.value) + " " +
           level_name(action.level);
  }
  static std::string described(const DestroySlot& action) {
    return "destroy " + std::to_string(action.slot.value);
  }
  static std::string described(const EndNest& action) { return "end " + std::to_string(action.nest.value); }

  std::optional<Pool> pool_;
};

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
            "hold 10 MiB");
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
  EXPECT_EQ(cold(), "the zygote of bare failed: it did not start within 10 s");
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

TEST(PoolConfigCheck, RefusesWhatCannotWork) {
  EXPECT_TRUE(check_config({}));
  const auto refused = [](auto change) {
    PoolConfig config;
    change(config);
    return !check_config(config).has_value();
  };
  EXPECT_TRUE(refused([](PoolConfig& config) { config.slots_max = 0; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.slots_max = kPoolSlotsMax + 1; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.teardown_debt_max = 0; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.slot_age_max = milliseconds{0}; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.memory_budget.count = ~0ull; }));
  SlotClass some = some_class();
  some.hot_min = some.hot_max + 1;
  EXPECT_FALSE(check_class(some));
}

}  // namespace
}  // namespace casemate::pool
