#include "pool/config.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace casemate::pool {
namespace {

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
}

TEST(PoolConfigCheck, RefusesAClassThatCannotWork) {
  SlotClass some;
  EXPECT_FALSE(check_class(some)) << "it has no key";
  some.key = "k";
  some.image = "i";
  EXPECT_TRUE(check_class(some));
  some.hot_min = some.hot_max + 1;
  EXPECT_FALSE(check_class(some));
}

}  // namespace
}  // namespace casemate::pool
