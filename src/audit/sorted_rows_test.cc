#include "audit/sorted_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace casemate::audit {
namespace {

TEST(SortedRows, AreByKeyThenOrderThenAsTheyCame) {
  std::mt19937_64 random(7);
  using Row = std::tuple<std::string, std::uint64_t, std::string>;
  std::vector<Row> rows;
  auto sorted = SortedRows::make();
  ASSERT_TRUE(sorted);
  for (int i = 0; i < 20'000; ++i) {
    std::string key(random() % 4, '\0');
    for (char& c : key) c = static_cast<char>(random() % 3 == 0 ? 0 : random());
    rows.emplace_back(key, random() % 3, std::to_string(i));
    ASSERT_TRUE(sorted->add(key, std::get<1>(rows.back()), std::get<2>(rows.back())));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::size_t at = 0;
  const auto each = [&](std::string_view key, std::string_view value) -> Result<void> {
    EXPECT_EQ(key, std::get<0>(rows.at(at)));
    EXPECT_EQ(value, std::get<2>(rows.at(at)));
    ++at;
    return {};
  };
  ASSERT_TRUE(sorted->each(each));
  EXPECT_EQ(at, rows.size());
}

TEST(SortedRows, StopAtTheFirstError) {
  auto sorted = SortedRows::make();
  ASSERT_TRUE(sorted);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sorted->add("", 0, ""));
  int calls = 0;
  const auto each = [&](std::string_view, std::string_view) -> Result<void> {
    return ++calls < 2 ? Result<void>{} : fail(ErrorCode::kCancelled, "enough");
  };
  const auto done = sorted->each(each);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace casemate::audit
