#include "bench/turns.h"

#include <gtest/gtest.h>

#include <memory>

namespace casemate::bench {
namespace {

// Its samples are 1, 2, 3, …; `order` is told when it has its turn.
Arm counting(const std::string& name, const std::shared_ptr<std::string>& order) {
  const auto count = std::make_shared<double>(0);
  return {name, "walls of " + name, [=]() -> Result<Sample> {
            *order += name;
            return Sample{++*count, 4.0};
          }};
}

TEST(Turns, PairTheSamplesOfEachTurn) {
  const auto order = std::make_shared<std::string>();
  const auto rows = take_turns({"m", "ms", 3, 1, milliseconds{60'000}}, counting("o", order),
                               {counting("a", order), counting("b", order)});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  for (const Row& row : *rows) {
    // The first turn is not counted.
    EXPECT_EQ(row.ours, (std::vector<double>{2, 3, 4}));
    EXPECT_EQ(row.theirs, (std::vector<double>{2, 3, 4}));
    EXPECT_EQ(row.ours_faults, 4.0);
    EXPECT_EQ(row.ours_isolation, "walls of o");
  }
  EXPECT_EQ((*rows)[1].peer, "b");
}

TEST(Turns, WhoBeginsGoesRound) {
  const auto order = std::make_shared<std::string>();
  ASSERT_TRUE(
      take_turns({"m", "ms", 2, 1, milliseconds{60'000}}, counting("o", order), {counting("a", order)}));
  EXPECT_EQ(*order, "aooaao");
}

TEST(Turns, OfAPeerWhoseTimeIsOverEndAfterTheLeast) {
  const auto order = std::make_shared<std::string>();
  const auto rows =
      take_turns({"m", "ms", 9, 2, milliseconds{0}}, counting("o", order), {counting("a", order)});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->front().theirs.size(), 2U);
  EXPECT_EQ(rows->front().ours.size(), 2U);
}

TEST(Turns, EndWithAWrongSample) {
  const auto order = std::make_shared<std::string>();
  const Arm liar{"l", "none", []() -> Result<Sample> { return fail(ErrorCode::kInternal, "it printed 2"); }};
  const auto rows = take_turns({"m", "ms", 2, 1, milliseconds{60'000}}, counting("o", order), {liar});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace casemate::bench
