// What holds for every policy and call, on random ones.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "policy/condition.h"
#include "policy/test_support.h"

namespace casemate::policy {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  std::string one(const std::vector<std::string>& of) { return of[below(of.size())]; }

  // Of the arguments a, b and c, without `present`, the one test that asks for what is missing.
  std::string condition(std::size_t depth = 3) {
    if (depth == 0 || below(3) == 0) return test();
    switch (below(4)) {
      case 0: return "not " + condition(0);
      case 1: return "(" + condition(depth - 1) + ")";
      case 2: return "(" + condition(depth - 1) + " and " + condition(depth - 1) + ")";
      default: return "(" + condition(depth - 1) + " or " + condition(depth - 1) + ")";
    }
  }

  std::string test() {
    const std::string path = one({"a", "b", "c", "a.x", "b.x"});
    const std::string list = one({"any a[*]", "all a[*]", "any b[*]", "all c[*].x"});
    switch (below(6)) {
      case 0:
        return path + one({" < ", " <= ", " > ", " >= ", " == ", " != "}) +
               one({"1", "-1", "100.5", "1e400"});
      case 1: return path + one({" > ", " <= "}) + "10 EUR";
      case 2: return path + one({" == ", " != "}) + one({"'x'", "''", "'1'", "true", "false"});
      case 3: return path + one({" ~ ", " !~ "}) + one({"'x*'", "'*'", "'?'"});
      case 4: return path + one({" in ", " not in "}) + one({"['x', '']", "[1, 2]"});
      default: return list + one({" == 'x'", " != 'x'", " > 1", " !~ 'x*'", " in ['x', 'y']"});
    }
  }

  std::string value(std::size_t depth = 2) {
    if (depth == 0 || below(3) != 0) {
      return one({"1", "2", "-1", "100.5", "1e400", "1e999999999", "\"x\"", "\"\"", "\"1\"", "\"xy\"", "true",
                  "false", "null"});
    }
    if (below(2) == 0) return "{\"x\":" + value(depth - 1) + ",\"currency\":\"EUR\"}";
    std::string list = "[";
    for (std::size_t i = below(3); i > 0; --i) list += value(depth - 1) + (i == 1 ? "" : ",");
    return list + "]";
  }

 private:
  std::mt19937_64 engine_;
};

std::string object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string text = "{\"currency\":\"EUR\"";
  for (const auto& [key, value] : members) {
    if (!value.empty()) text += ",\"" + key + "\":" + value;
  }
  return text + "}";
}

// If a condition is answered while an argument is missing, no value of that argument changes the answer: so
// nothing is ever allowed, or let pass by a deny rule, because an argument is missing.
TEST(PolicyProperties, AMissingArgumentDecidesNothing) {
  std::size_t answered = 0;
  std::size_t unknown = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    Draw draw(seed);
    const std::string text = draw.condition();
    std::size_t offset = 0;
    const auto condition = Condition::parse(text, 0, offset);
    ASSERT_TRUE(condition.has_value()) << text << ": " << condition.error().message;
    const std::string b = draw.value();
    const std::string c = draw.value();
    const auto without = json::read(object({{"b", b}, {"c", c}}));
    const Truth truth = condition->evaluate(*without).truth;
    (truth == Truth::kUnknown ? unknown : answered) += 1;
    if (truth == Truth::kUnknown) continue;
    for (int i = 0; i < 8; ++i) {
      const auto with = json::read(object({{"a", draw.value()}, {"b", b}, {"c", c}}));
      ASSERT_EQ(condition->evaluate(*with).truth, truth) << "seed " << seed << ": " << text;
    }
  }
  EXPECT_GT(answered, 1'000U);
  EXPECT_GT(unknown, 2'000U);
}

// The same for what is there and of another type than every test wants: an empty list here, which is no
// number, no string, no boolean and no object, and has no item.
TEST(PolicyProperties, AnotherTypeDecidesNothing) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    Draw draw(seed);
    const std::string text = draw.condition();
    std::size_t offset = 0;
    const auto condition = Condition::parse(text, 0, offset);
    ASSERT_TRUE(condition.has_value()) << text;
    const std::string b = draw.value();
    const std::string c = draw.value();
    const auto without = json::read(object({{"b", b}, {"c", c}}));
    const auto wrong = json::read(object({{"a", "[]"}, {"b", b}, {"c", c}}));
    ASSERT_EQ(condition->evaluate(*wrong).truth, condition->evaluate(*without).truth)
        << "seed " << seed << ": " << text;
  }
}

TEST(PolicyProperties, ATestAloneIsNeverAnsweredByWhatIsMissing) {
  const auto nothing = json::read("{}");
  for (std::uint64_t seed = 1; seed <= 5'000; ++seed) {
    Draw draw(seed);
    const std::string test = draw.test();
    const Policy policy =
        policy_of("[permissions]\nallow = [\"f(" + test + ")\", \"g(not " + test + ")\"]\n");
    const RunState run = start(policy, {});
    ASSERT_EQ(judge(policy, named("f"), {*nothing}, run).decision, Decision::kAsk) << test;
    ASSERT_EQ(judge(policy, named("g"), {*nothing}, run).decision, Decision::kAsk) << test;
  }
}

std::string random_policy(Draw& draw) {
  std::string text = "[permissions]\n";
  const auto pattern = [&](bool classes) {
    std::string target = draw.one({"f", "f", "*", "f*", "g"});
    if (classes && draw.below(3) == 0)
      target = draw.one({"@spend", "@destructive", "@irreversible", "@tier1", "f@writes"});
    return "\"" + target + (draw.below(2) == 0 ? "(" + draw.condition(1) + ")" : "") + "\"";
  };
  text += "deny = [" + (draw.below(3) == 0 ? pattern(true) : "") + "]\n";
  text += "ask = [" + (draw.below(2) == 0 ? pattern(true) : "") + "]\n";
  text += "allow = [" + pattern(false) + ", " + pattern(false) + "]\n";
  if (draw.below(3) == 0) text += "[labels.sinks]\nf = 'inner'\n";
  if (draw.below(3) == 0) text += "[tiers]\nf = { tier = 2, override = 'so' }\n";
  if (draw.below(2) == 0) {
    text += "[[flow]]\nwhen = \"" +
            draw.one({"untrusted in run", "private in run and effect != irreversible",
                      "not effect == irreversible", "sink == external and untrusted in run",
                      "effect == irreversible or private in run"}) +
            "\"\nverdict = '" + draw.one({"ask", "deny"}) + "'\nreason = 'x'\n";
  }
  if (draw.below(3) == 0) text += "[[budgets.calls]]\nof = '@irreversible'\nmax = 0\nbeyond = 'deny'\n";
  return text;
}

// What a server says of its tools, and what a run reads, only tightens (labels without a `not` before them).
TEST(PolicyProperties, AnnotationsAndLabelsOnlyTighten) {
  std::size_t tightened = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    Draw draw(seed);
    const std::string text = random_policy(draw);
    const Policy policy = policy_of(text);
    const auto arguments = json::read(object({{"a", draw.value()}, {"b", draw.value()}}));
    const Origin origin = draw.below(2) == 0 ? Origin::kBox : Origin::kModel;
    Capability capability = named("f");
    if (draw.below(3) == 0) capability.effects.add(kEffects[draw.below(kEffects.size())]);
    RunState run = start(policy, {});
    const Decision before = judge(policy, capability, {*arguments, origin}, run).decision;
    if (draw.below(2) == 0) {
      capability.annotations.add(kAnnotations[draw.below(kAnnotations.size())]);
    } else {
      run.labels.add(draw.one({"untrusted", "private"}), "x");
    }
    const Decision after = judge(policy, capability, {*arguments, origin}, run).decision;
    ASSERT_GE(after, before) << "seed " << seed << "\n" << text;
    tightened += after > before ? 1 : 0;
  }
  EXPECT_GT(tightened, 100U);
}

TEST(PolicyProperties, TheSameQuestionHasTheSameAnswer) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Draw draw(seed);
    const Policy policy = policy_of(random_policy(draw));
    const auto arguments = json::read(object({{"a", draw.value()}}));
    const RunState run = start(policy, {});
    const Verdict once = judge(policy, named("f"), {*arguments}, run);
    const Verdict twice = judge(Policy(policy), named("f"), {*arguments}, run);
    ASSERT_EQ(once.decision, twice.decision);
    ASSERT_EQ(once.grounds.size(), twice.grounds.size());
    ASSERT_EQ(once.grounds[0].reason, twice.grounds[0].reason);
    ASSERT_EQ(once.grounds[0].decision, once.decision);
  }
}

}  // namespace
}  // namespace casemate::policy
