#include "base/split.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

using Parts = std::vector<std::string>;

TEST(Split, CutsAtEverySeparator) {
  EXPECT_EQ(split("", ','), Parts{});
  EXPECT_EQ(split("a", ','), (Parts{"a"}));
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split(",a,,b", ','), (Parts{"", "a", "", "b"}));
}

TEST(Split, AnEndingSeparatorBeginsNoPart) {
  EXPECT_EQ(split("a\nb\n", '\n'), (Parts{"a", "b"}));
  EXPECT_EQ(split("\n", '\n'), (Parts{""}));
}

}  // namespace
}  // namespace casemate
