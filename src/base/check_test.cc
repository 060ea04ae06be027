#include "base/check.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

TEST(Check, GoesOnWhenTheConditionHolds) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, SaysWhereAndWhatAndAborts) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "internal error: .*check_test\\.cc:[0-9]+: CHECK\\(1 \\+ 1 == 3\\)");
}

}  // namespace
}  // namespace casemate
