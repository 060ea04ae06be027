#include "policy/pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "json/reader.h"

namespace casemate::policy {
namespace {

std::string fault(std::string_view text) {
  std::size_t offset = 0;
  const auto pattern = Pattern::parse(text, offset);
  return pattern ? "(none)" : std::to_string(offset) + ": " + pattern.error().message;
}

Facts facts(std::string name, Effects effects = {}, Annotations annotations = {}, Tier tier = Tier::kTwo) {
  Facts result;
  result.name = std::move(name);
  result.effects = effects;
  result.annotations = annotations;
  result.tier = tier;
  return result;
}

bool covers(std::string_view text, const Facts& facts) {
  std::size_t offset = 0;
  const auto pattern = Pattern::parse(text, offset);
  EXPECT_TRUE(pattern.has_value()) << text << ": " << fault(text);
  return pattern && pattern->covers(facts);
}

TEST(Pattern, CoversByNameAndClass) {
  Effects spend;
  spend.add(Effect::kSpend);
  Annotations destructive;
  destructive.add(Annotation::kDestructive);
  EXPECT_TRUE(covers("pay.send", facts("pay.send")));
  EXPECT_FALSE(covers("pay.send", facts("pay.sender")));
  EXPECT_TRUE(covers("pay.*", facts("pay.send")));
  EXPECT_TRUE(covers("*", facts("x")));
  EXPECT_TRUE(covers("mcp__git__*", facts("mcp__git__delete")));
  EXPECT_TRUE(covers("@spend", facts("x", spend)));
  EXPECT_FALSE(covers("@spend", facts("x")));
  EXPECT_TRUE(covers("pay.*@spend", facts("pay.send", spend)));
  EXPECT_FALSE(covers("pay.*@spend", facts("buy", spend)));
  EXPECT_TRUE(covers("@destructive", facts("x", {}, destructive)));
  EXPECT_FALSE(covers("@open-world", facts("x", {}, destructive)));
  EXPECT_FALSE(covers("@writes", facts("x", {}, destructive)));
  EXPECT_TRUE(covers("@tier1", facts("x", {}, {}, Tier::kOne)));
  EXPECT_FALSE(covers("@tier1", facts("x")));
  for (const Effect effect : kEffects) {
    Effects one;
    one.add(effect);
    EXPECT_TRUE(covers("@" + std::string(word(effect)), facts("x", one)));
  }
}

TEST(Pattern, NamesOnlyWithoutWildcardAndClass) {
  std::size_t offset = 0;
  EXPECT_TRUE(Pattern::parse("a.b", offset)->names("a.b"));
  EXPECT_TRUE(Pattern::parse("a.b(x > 1)", offset)->names("a.b"));
  EXPECT_FALSE(Pattern::parse("a.*", offset)->names("a.b"));
  EXPECT_FALSE(Pattern::parse("a.?", offset)->names("a.b"));
  EXPECT_FALSE(Pattern::parse("*", offset)->names("a.b"));
  EXPECT_FALSE(Pattern::parse("a.b@spend", offset)->names("a.b"));
  EXPECT_FALSE(Pattern::parse("@spend", offset)->names("a.b"));
}

TEST(Pattern, FaultsHaveAPlace) {
  EXPECT_EQ(fault("a.b"), "(none)");
  EXPECT_EQ(fault("a.b(x == ')')"), "(none)");
  EXPECT_EQ(fault("a.b(x == '@')"), "(none)");
  EXPECT_EQ(fault(""), "0: the name of a capability is due here");
  EXPECT_EQ(fault("a b"), "0: a name has no ` `");
  EXPECT_EQ(fault("é"), "0: a name has no `é`");
  EXPECT_EQ(fault("a.b (x == 1)"), "0: a name has no ` `");
  EXPECT_EQ(
      fault("a@spending"),
      "1: there is no class \"@spending\"; there are spend, message, external, irreversible, regulated, "
      "destructive, open-world, writes, tier1");
  EXPECT_EQ(fault("a.b()").substr(0, 2), "4:");
  EXPECT_EQ(fault("a.b(x > 1"), "9: `)` is due at the end");
  EXPECT_EQ(fault("a.b(x > y)").substr(0, 2), "8:");
  EXPECT_EQ(fault("stdout"), "0: `stdout` is a way out of the run, and no capability");
  EXPECT_NE(fault(std::string(kCapabilityNameMax + 1, 'a')), "(none)");
  EXPECT_NE(fault("a(" + std::string(kPatternMax, ' ') + "x == 1)"), "(none)");
}

}  // namespace
}  // namespace casemate::policy
