#include "policy/policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/limits.h"
#include "policy/test_support.h"

namespace casemate::policy {
namespace {

using namespace std::string_literals;

std::string mistakes(std::string_view text) {
  const Loaded loaded = Policy::parse(text);
  EXPECT_EQ(loaded.policy.has_value(), loaded.mistakes.empty());
  return listed(loaded.mistakes);
}

TEST(PolicyFile, ItsFormIsRead) {
  const Loaded loaded = Policy::parse(R"toml(
default = "deny"
[permissions]
deny  = ["github.delete_*"]
ask   = ["mail.send(to !~ '*@example.com')", "payment.send(amount > 100)"]
allow = ["ledger.read", "docs.*", "mail.send(to ~ '*@example.com')"]
[labels]
others = ["seeded"]
[labels.sources]
"web.*"       = ["untrusted"]
"mail.read_*" = ["untrusted", "private"]
"one"         = "odd"
[labels.sinks]
"mail.send" = "external"
stdout      = "model"
[effects]
"mail.send" = ["message"]
"payment.*" = "spend"
[tiers]
"ledger.write" = 1
"mail.send"    = { tier = 2, override = "only drafts" }
[[flow]]
when    = "(untrusted in run or odd in run or seeded in run) and sink == external"
verdict = "ask"
reason  = "the program has read untrusted content"
[[budgets.calls]]
of = "mail.*"
max = 20
beyond = "ask"
[[budgets.distinct]]
of = "mail.send"
argument = "to"
max = 5
beyond = "deny"
reason = "five recipients"
[[budgets.sum]]
of = "@spend"
argument = "amount"
currency = "p.unit"
max = ["1000.50 EUR", "5 USD"]
beyond = "deny"
[[test]]
call   = "mail.send(to='a@example.com')"
labels = []
expect = "allow"
[[test]]
sink   = "stdout"
labels = ["private"]
expect = "allow"
)toml");
  ASSERT_TRUE(loaded.policy.has_value()) << listed(loaded.mistakes);
  EXPECT_EQ(loaded.tests, 2U);
  const Rules& rules = loaded.policy->rules();
  EXPECT_EQ(rules.unmatched, Decision::kDeny);
  ASSERT_EQ(rules.permissions.size(), 6U);
  EXPECT_EQ(rules.permissions[0].decision, Decision::kDeny);
  EXPECT_EQ(rules.permissions[5].decision, Decision::kAllow);
  EXPECT_EQ(rules.permissions[2].text.place.line, 5U);
  EXPECT_EQ(rules.sources->size(), 3U);
  EXPECT_EQ(rules.sinks->size(), 2U);
  EXPECT_EQ(rules.effects.size(), 2U);
  EXPECT_EQ(rules.tiers[1].reason, "only drafts");
  ASSERT_EQ(rules.budgets.size(), 3U);
  EXPECT_EQ(rules.budgets[2].sums.size(), 2U);
}

TEST(PolicyFile, AllMistakesComeTogetherWithTheirPlaces) {
  EXPECT_EQ(
      mistakes(R"toml(defualt = "ask"
default = "allow"
[permissions]
deny = ["git hub", 3, "a(b >> 1)"]
ask = "a"
allow = ["@spend", "a@nothing"]
never = []
[labels]
others = ["Bad"]
[labels.sources]
"a b" = ["x"]
"a" = ["X", 5]
[labels.sinks]
"a" = ["external"]
[effects]
"a" = ["spending"]
[tiers]
"a" = 3
"b.*" = { tier = 2, override = "x" }
"c" = { tier = 2, override = " " }
"d" = { tier = 1, override = "x" }
"e" = { tier = 2 }
[[flow]]
when = "nobody in run and sink == nowhere"
verdict = "allow"
[[flow]]
when = "untrusted in"
verdict = "deny"
reason = "x"
)toml"),
      "1:1 unknown key \"defualt\"; there are budgets, default, effects, flow, labels, permissions, test, "
      "tiers\n"
      "2:11 default should be one of ask, deny, is \"allow\"\n"
      "4:10 a name has no ` `\n"
      "4:20 deny should be a list of strings, this is an integer\n"
      "4:29 a number is due here, not `>`\n"
      "5:7 ask should be a list, is a string\n"
      "6:10 a class cannot allow, only deny or ask: servers have a say in classes\n"
      "6:22 there is no class \"@nothing\"; there are spend, message, external, irreversible, regulated, "
      "destructive, open-world, writes, tier1\n"
      "7:1 unknown key \"never\" in permissions; there are allow, ask, deny\n"
      "9:11 a label is a word of small letters, digits, \"_\" and \"-\"\n"
      "11:2 a name has no ` `\n"
      "12:8 a label is a word of small letters, digits, \"_\" and \"-\"\n"
      "12:13 labels.sources should be a list of strings, this is an integer\n"
      "14:7 a sink's class is a word of small letters, digits, \"_\" and \"-\"\n"
      "16:8 an effect is spend, message, external, irreversible or regulated\n"
      "18:7 a tier is 1, 2 or { tier = 2, override = \"why\" }\n"
      "19:1 an override names one capability: no wildcards\n"
      "20:30 an override says why\n"
      "21:16 nothing has to be overridden for tier 1\n"
      "22:7 a tier is 1, 2 or { tier = 2, override = \"why\" }\n"
      "23:1 [[flow]] has no reason\n"
      "24:9 no source has the label nobody; there are Bad, private, untrusted, and those of `labels.others`\n"
      "24:35 no sink is of the class nowhere; there are artifact, external, result, stdout\n"
      "25:11 verdict should be one of ask, deny, is \"allow\"\n"
      "27:21 `run` is due here, not the end\n");
}

TEST(PolicyFile, MistakesOfBudgetsAndTests) {
  EXPECT_EQ(mistakes(R"toml([budgets]
[[budgets.calls]]
of = "a.*(x > 1)"
max = -1
beyond = "allow"
[[budgets.distinct]]
of = "a"
max = 3
beyond = "ask"
[[budgets.sum]]
of = "a"
argument = "l[*]"
max = ["5 EUR", "6 EUR", "-1 USD", "x", "5 GBP from x"]
beyond = "ask"
[[budgets.sum]]
of = "a"
argument = "x y"
max = ["5", "6 EUR"]
beyond = "ask"
[[budgets.sum]]
of = "a"
argument = "x"
max = 5
beyond = "ask"
odd = 1
[[test]]
call = "a("
expect = "yes"
[[test]]
call = "a()"
sink = "stdout"
labels = ["A"]
effects = ["x"]
annotations = ["x"]
from = "me"
before = ["b"]
)toml"),
            "3:6 a budget is for every call of a capability: no condition here\n"
            "4:7 max should be between 0 and 1000000000, is -1\n"
            "5:10 beyond should be one of ask, deny, is \"allow\"\n"
            "6:1 [[budgets.distinct]] has no argument\n"
            "13:7 items of a list have no `currency` beside them: `currency` says which path\n"
            "13:17 there are two sums for one currency\n"
            "13:26 a sum is not negative\n"
            "13:37 a number is due here, not `x`\n"
            "13:41 `currency = \"path\"` says where a call states its currency\n"
            "17:15 nothing may follow here, not `y`\n"
            "18:7 either every sum has a currency, or there is one sum without\n"
            "23:7 max (\"100 EUR\") should be a string or a list of strings, is an integer\n"
            "25:1 unknown key \"odd\" in budgets.sum; there are argument, beyond, currency, max, of, reason\n"
            "27:11 the name of an argument is due here, not the end\n"
            "28:10 expect should be one of allow, ask, deny, is \"yes\"\n"
            "29:1 [[test]] has no expect\n"
            "31:8 a test has a call or a sink, not both\n"
            "32:11 a label is a word of small letters, digits, \"_\" and \"-\"\n"
            "33:12 an effect is spend, message, external, irreversible or regulated\n"
            "34:16 an annotation is destructive, open-world or writes\n"
            "35:8 from should be one of box, model, is \"me\"\n"
            "36:13 `(` is due here\n");
}

TEST(PolicyFile, ATestThatFailsRejectsTheFile) {
  const std::string file = "[permissions]\nallow = ['a.b']\n[[test]]\ncall = 'a.b()'\nexpect = 'allow'\n";
  EXPECT_EQ(mistakes(file), "");
  EXPECT_EQ(
      mistakes(file +
               "[[test]]\ncall = 'a.c()'\nexpect = 'allow'\n[[test]]\ncall = 'a.b()'\nexpect = 'deny'\n"),
      "8:10 this test expects allow and the verdict is ask by default: ask: no rule allows it\n"
      "11:10 this test expects deny and the verdict is allow by permissions.allow: a.b (line 2): it matches "
      "the "
      "call\n");
}

TEST(PolicyFile, TestsMayHaveCallsBefore) {
  EXPECT_EQ(
      mistakes("[permissions]\nallow = ['web.get', 'b.send']\n[effects]\n'b.send' = 'message'\n"
               "[labels.sources]\n'web.*' = ['untrusted']\n[labels.sinks]\n"
               "[[flow]]\nwhen = 'untrusted in run and sink == external'\nverdict = 'ask'\nreason = 'x'\n"
               "[[budgets.calls]]\nof = 'web.get'\nmax = 1\nbeyond = 'deny'\n"
               "[[test]]\ncall = 'b.send()'\nexpect = 'allow'\n"
               "[[test]]\nbefore = ['web.get()']\ncall = 'b.send()'\nexpect = 'ask'\n"
               "[[test]]\nbefore = ['web.get()']\ncall = 'web.get()'\nexpect = 'deny'\n"
               "[[test]]\nlabels = ['untrusted']\nsink = 'stdout'\nexpect = 'allow'\n"
               "[[test]]\ncall = 'web.get()'\neffects = ['spend']\nannotations = ['writes']\nfrom = 'model'\n"
               "expect = 'allow'\n"),
      "");
}

TEST(PolicyFile, TierTwoByAWordIsRefusedForWhatHasAnEffect) {
  EXPECT_EQ(mistakes("[effects]\n'a.*' = ['spend']\n[tiers]\n'a.b' = 2\n'c' = 2\n'a.d' = { tier = 2, "
                     "override = 'so' }\n"),
            "4:1 line 2 says that it has an effect of tier 1; tier 2 then needs { tier = 2, override = "
            "\"why\" }\n");
}

TEST(PolicyFile, HostileFilesAreRefusedAtOnce) {
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(mistakes("default = \"ask\0\""s), "1:15 a NUL byte\n");
  EXPECT_NE(mistakes("default = \"\xff\""), "");
  EXPECT_NE(mistakes(std::string(kPolicyBytesMax + 1, ' ')), "");
  EXPECT_NE(mistakes("[permissions]\nallow = " + std::string(100'000, '[')), "");
  EXPECT_NE(mistakes("[permissions]\nallow = [\"a(" + std::string(4'000, '(') + ")\"]"), "");
  EXPECT_NE(mistakes("[permissions]\nallow = [\"a(x == '\\u0000\\u001b')\", \"\\u001b[31m\"]"), "");
  std::string many = "[permissions]\nallow = [";
  for (std::size_t i = 0; i <= kPolicyRulesMax; ++i) many += "'a',";
  EXPECT_EQ(mistakes(many + "]"), "2:9 allow has more than 500 items\n");
  std::string wrong = "[permissions]\nallow = [";
  for (std::size_t i = 0; i < kPolicyRulesMax; ++i) wrong += "'(',";
  EXPECT_NE(mistakes(wrong + "]").find("and 400 more mistakes"), std::string::npos);
  // As many rules and tests as there may be, each of them slow.
  std::string most = "[permissions]\ndeny = [";
  for (std::size_t i = 0; i < 100; ++i) most += "\"*(x ~ '*a*a*a*a*b')\",\n";
  most += "]\n";
  const std::string test = "[[test]]\ncall = \"a(x='" + std::string(2'000, 'a') + "')\"\nexpect = \"ask\"\n";
  while (most.size() + test.size() < kPolicyBytesMax) most += test;
  EXPECT_EQ(mistakes(most), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

TEST(PolicyFile, AMistakeShowsNoControls) {
  for (const char byte : mistakes("\"\\u001b[31mx\" = 1\n[permissions]\nask = [\"\\u001b(\"]\n")) {
    EXPECT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20);
  }
}

}  // namespace
}  // namespace casemate::policy
