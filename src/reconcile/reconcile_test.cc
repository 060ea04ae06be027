// Random histories: whole ones are complete, and each kind of damage is named, with its first offender.
#include "reconcile/reconcile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reconcile/test_history.h"

namespace casemate::reconcile {
namespace {

TEST(Reconcile, WholeHistoriesAreComplete) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const Report report = Maker(random).make().report();
    EXPECT_TRUE(report.ok()) << "seed " << seed << "\n" << report_text(report);
    EXPECT_GT(report.of(Question::kEffects).whole, 0U);
  }
}

TEST(Reconcile, EachKindOfDamageIsNamed) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    for (const Damage& damage : damages()) {
      Random random(seed);
      History history = Maker(random).make();
      const std::string id = damage.wreak(random, history);
      const Report report = history.report();
      EXPECT_FALSE(report.ok());
      const std::vector<Offender>& first = report.of(damage.question).first;
      const bool named = std::any_of(first.begin(), first.end(), [&](const Offender& offender) {
        return offender.kind == damage.kind && offender.id == id;
      });
      EXPECT_TRUE(named) << "seed " << seed << ": " << damage.kind << " of " << id << "\n"
                         << report_text(report);
    }
  }
}

TEST(Reconcile, NothingIsNotComplete) {
  EXPECT_FALSE(History{}.report().ok());
  Random random(1);
  History history = Maker(random).make();
  history.scope.run = "run_of_nobody";
  EXPECT_FALSE(history.report().ok());
}

TEST(Reconcile, OneRunIsLookedAtAlone) {
  Random random(3);
  History history = Maker(random).make();
  ASSERT_GT(history.boxes.size(), 1U);
  const std::string other = history.outcomes.back().run;
  std::erase_if(history.boxes, [&](const Box& box) { return box.run == other; });
  EXPECT_FALSE(history.report().ok());
  history.scope.run = history.outcomes.front().run;
  const Report report = history.report();
  EXPECT_TRUE(report.ok()) << report_text(report);
  EXPECT_EQ(report.runs, 1U);
}

TEST(Reconcile, RunsBeforeTheTimeAreLeftOutWithTheirEffects) {
  Random random(3);
  History history = Maker(random).make();
  ASSERT_GT(history.outcomes.size(), 1U);
  std::erase_if(history.boxes, [](const Box& box) { return box.run == "run_1"; });
  const auto second = std::find_if(history.records.begin(), history.records.end(),
                                   [](const Record& record) { return record.run == "run_2"; });
  history.scope.since = second->at;
  const Report report = history.report();
  EXPECT_TRUE(report.ok()) << report_text(report);
  EXPECT_EQ(report.runs, history.outcomes.size() - 1);
}

TEST(Reconcile, ACallWithoutAKeyCannotBeObserved) {
  Random random(1);
  History history = Maker(random).make();
  for (Record& record : history.records) record.key.clear();
  EXPECT_GT(history.report().of(Question::kCalls).kinds.at("not_observed"), 0U);
}

TEST(Reconcile, OnlyTheFirstOfAKindAreKept) {
  Random random(1);
  History history = Maker(random).make();
  for (int i = 0; i < 1000; ++i)
    history.effects.push_back({"k" + std::to_string(i), "c", "r", Time{}, "f:1"});
  const Report report = history.report();
  EXPECT_EQ(report.of(Question::kEffects).kinds.at("unknown_effect"), 1000U);
  EXPECT_EQ(report.of(Question::kEffects).first.size(), kOffendersShown);
}

TEST(Percent, IsNeverAllForLess) {
  EXPECT_EQ(percent(0, 0), "none");
  EXPECT_EQ(percent(28, 28), "100 %");
  EXPECT_EQ(percent(27, 28), "96.42 %");
  EXPECT_EQ(percent(999'999, 1'000'000), "99.99 %");
  EXPECT_EQ(percent(1, 2000), "0.05 %");
}

}  // namespace
}  // namespace casemate::reconcile
