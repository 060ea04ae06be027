#include "base/near_names.h"

#include <gtest/gtest.h>

#include <array>

namespace casemate {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"amount",  "account", "date",     "tenant",
                                                    "tenants", "a",       "post_date"};

std::vector<std::string> near(std::string_view wanted, std::size_t most = 3) {
  return near_names(wanted, kNames, most);
}

TEST(NearNames, FindsTypingErrors) {
  EXPECT_EQ(near("amonut"), std::vector<std::string>{"amount"});  // swapped
  EXPECT_EQ(near("amont"), std::vector<std::string>{"amount"});   // left out
  EXPECT_EQ(near("ammount"), (std::vector<std::string>{"amount", "account"}));
  EXPECT_EQ(near("dage"), std::vector<std::string>{"date"});  // replaced
}

TEST(NearNames, PassesOverCaseAndSeparators) {
  EXPECT_EQ(near("Amount"), std::vector<std::string>{"amount"});
  EXPECT_EQ(near("postDate"), std::vector<std::string>{"post_date"});
  EXPECT_EQ(near("post.date"), std::vector<std::string>{"post_date"});
}

TEST(NearNames, TheNearestComesFirstAndTheAlphabetDecides) {
  EXPECT_EQ(near("tenan"), (std::vector<std::string>{"tenant"}));
  EXPECT_EQ(near("tenantz"), (std::vector<std::string>{"tenant", "tenants"}));
  EXPECT_EQ(near("tenantz", 1), std::vector<std::string>{"tenant"});
}

TEST(NearNames, SaysNothingWhereNothingIsNear) {
  EXPECT_TRUE(near("currency").empty());
  EXPECT_TRUE(near("x").empty());
  EXPECT_TRUE(near("").empty());
  EXPECT_TRUE(near("date").empty());  // it is there: nothing else was meant
  EXPECT_TRUE(near_names("amount", {}, 3).empty());
}

TEST(NearNames, LongNamesAreNotCompared) {
  const std::string long_name(kNearNameMax, 'n');
  const std::string longer_name = long_name + "n";
  const std::array<std::string_view, 2> names = {long_name, longer_name};
  EXPECT_EQ(near_names(long_name.substr(1), names, 3), std::vector<std::string>{long_name});
  EXPECT_TRUE(near_names(longer_name + "n", names, 3).empty());
}

}  // namespace
}  // namespace casemate
