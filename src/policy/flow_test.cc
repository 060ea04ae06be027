#include "policy/flow.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/limits.h"

namespace casemate::policy {
namespace {

struct Given {
  std::vector<std::string> labels = {};
  std::vector<std::string> sinks = {};
  std::vector<Effect> effects = {};
  std::vector<Effect> warned = {};
};

std::string says(std::string_view text, const Given& given = {}) {
  std::size_t offset = 0;
  const auto condition = FlowCondition::parse(text, offset);
  if (!condition) return std::to_string(offset) + ": " + condition.error().message;
  Labels labels;
  for (const std::string& label : given.labels) labels.add(label, "x");
  Passage passage;
  passage.sinks.insert(given.sinks.begin(), given.sinks.end());
  for (const Effect effect : given.effects) passage.effects.add(effect);
  for (const Effect effect : given.warned) passage.warned.add(effect);
  return condition->holds(labels, passage) ? "true" : "false";
}

TEST(Flow, AsksForLabelsSinksAndEffects) {
  EXPECT_EQ(says("untrusted in run", {.labels = {"untrusted"}}), "true");
  EXPECT_EQ(says("untrusted in run", {.labels = {"private"}}), "false");
  EXPECT_EQ(says("untrusted not in run"), "true");
  EXPECT_EQ(says("'untrusted' in run", {.labels = {"untrusted"}}), "true");
  EXPECT_EQ(says("sink == external", {.sinks = {"external", "x"}}), "true");
  EXPECT_EQ(says("sink == external", {.sinks = {"x"}}), "false");
  EXPECT_EQ(says("sink != external"), "true");
  EXPECT_EQ(says("effect == spend", {.effects = {Effect::kSpend}}), "true");
  EXPECT_EQ(says("effect != spend", {.effects = {Effect::kSpend}}), "false");
  EXPECT_EQ(says("untrusted in run and (sink == external or effect == spend)",
                 {.labels = {"untrusted"}, .effects = {Effect::kSpend}}),
            "true");
  EXPECT_EQ(says("not (untrusted in run and private in run)", {.labels = {"untrusted"}}), "true");
}

TEST(Flow, AServersWarningOnlyTightens) {
  EXPECT_EQ(says("effect == irreversible", {.warned = {Effect::kIrreversible}}), "true");
  EXPECT_EQ(says("effect != irreversible", {.warned = {Effect::kIrreversible}}), "true");
  EXPECT_EQ(says("not effect == irreversible", {.effects = {Effect::kIrreversible}}), "false");
}

TEST(Flow, ARunWithTooManyLabelsMatchesEveryRule) {
  Labels labels;
  for (std::size_t i = 0; i < kLabelsMax; ++i) labels.add("l" + std::to_string(i), "x");
  std::size_t offset = 0;
  const auto condition = FlowCondition::parse("untrusted in run", offset);
  EXPECT_FALSE(condition->holds(labels, {}));
  labels.add("one-more", "x");
  EXPECT_TRUE(labels.overflow());
  EXPECT_TRUE(condition->holds(labels, {}));
  EXPECT_TRUE(FlowCondition::parse("untrusted not in run", offset)->holds(labels, {}));
}

TEST(Flow, FaultsHaveAPlace) {
  EXPECT_EQ(says(""), "0: a label, `sink` or `effect` is due here, not the end");
  EXPECT_EQ(says("Untrusted in run"), "0: a label, `sink` or `effect` is due here, not `Untrusted`");
  EXPECT_EQ(says("untrusted"), "9: `in` is due here, not the end");
  EXPECT_EQ(says("untrusted in box"), "13: `run` is due here, not `box`");
  EXPECT_EQ(says("sink = external"), "5: `==` is due here, not `=`");
  EXPECT_EQ(says("sink == 5"), "8: a word of small letters is due here, not `5`");
  EXPECT_EQ(says("effect == speed"),
            "10: an effect is due here: spend, message, external, irreversible or regulated, not `speed`");
  EXPECT_EQ(says("sink == external untrusted in run"), "17: nothing may follow here, not `untrusted`");
  EXPECT_NE(says(std::string(kPatternMax + 1, ' ')).find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace casemate::policy
