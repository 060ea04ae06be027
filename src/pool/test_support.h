// A pool for tests, and an engine that does at once and well what a test tells it to do.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pool/pool.h"

namespace casemate::pool {

using std::chrono::seconds;

inline constexpr PreloadSet kBare = PreloadSet::kBare;
inline constexpr PreloadSet kNumpy = PreloadSet::kNumpy;
inline constexpr DeathProof kGone{RowState::kOn, RowState::kOn, RowState::kOn, RowState::kOn};

inline PoolConfig some_config() {
  PoolConfig config;
  config.memory_budget = mib(100);
  config.nest_cost = {mib(10), mib(20), mib(40)};
  config.preparing_max = 4;
  return config;
}

inline SlotClass some_class(PreloadSet preload = kBare, std::size_t hot_min = 1) {
  SlotClass some;
  some.key = "k";
  some.image = "i";
  some.preload = preload;
  some.hot_min = hot_min;
  return some;
}

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

}  // namespace casemate::pool
