#include "policy/judge.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/limits.h"
#include "policy/test_support.h"

namespace casemate::policy {
namespace {

TEST(Judge, DenyBeforeAskBeforeAllow) {
  const TestRun run(
      "[permissions]\n"
      "deny = ['a.*(x == 1)']\n"
      "ask = ['a.b(x == 2)']\n"
      "allow = ['*']\n");
  EXPECT_EQ(run.says("a.b(x=1)"), "deny: permissions.deny: a.*(x == 1) (line 2)");
  EXPECT_EQ(run.says("a.b(x=2)"), "ask: permissions.ask: a.b(x == 2) (line 3)");
  EXPECT_EQ(run.says("a.b(x=3)"), "allow: permissions.allow: * (line 4)");
  EXPECT_EQ(run.says("a.c(x=2)"), "allow: permissions.allow: * (line 4)");
}

TEST(Judge, AbsentEmptyAndPresentListsAreDefined) {
  EXPECT_EQ(TestRun("").says("a()"), "ask: default: ask");
  EXPECT_EQ(TestRun("default = 'deny'\n").says("a()"), "deny: default: deny (line 1)");
  EXPECT_EQ(TestRun("[permissions]\n").says("a()"), "ask: default: ask");
  EXPECT_EQ(TestRun("[permissions]\ndeny = []\nask = []\n").says("a()"), "ask: default: ask");
  // An empty list of what is allowed is no permission for everything, nor a question about everything (B125).
  EXPECT_EQ(TestRun("[permissions]\nallow = []\n").says("a()"), "deny: permissions.allow: [] (line 2)");
  EXPECT_EQ(TestRun("[permissions]\nask = ['a']\nallow = []\n").says("a()"),
            "ask: permissions.ask: a (line 2)");
  EXPECT_EQ(TestRun("[permissions]\nallow = ['b']\n").says("a()"), "ask: default: ask");
}

TEST(Judge, UnknownNeverAllowsAndCountsAsAMatchElsewhere) {
  const TestRun run(
      "[permissions]\ndeny = ['d(x > 5)']\nask = ['k(x > 5)']\nallow = ['a(x > 5)', 'd', 'k', 'n(not x > "
      "5)']\n");
  for (const char* arguments :
       {"()", "(x='many')", "(x=null)", "(x=[9])", "(x={a=9})", "(x=true)", "(y=9)"}) {
    EXPECT_EQ(run.decides("d" + std::string(arguments)), "deny") << arguments;
    EXPECT_EQ(run.decides("k" + std::string(arguments)), "ask") << arguments;
    EXPECT_EQ(run.decides("a" + std::string(arguments)), "ask") << arguments;
    EXPECT_EQ(run.decides("n" + std::string(arguments)), "ask") << arguments;
  }
  EXPECT_EQ(run.decides("a(x=6)"), "allow");
  EXPECT_EQ(run.decides("d(x=5)"), "allow");
  const Verdict verdict = run.verdict("d(x='many')");
  EXPECT_TRUE(verdict.grounds[0].unknown);
  EXPECT_EQ(verdict.grounds[0].reason,
            "it counts as a match: `x` is no number: \"many\" does not spell a number");
}

TEST(Judge, ArgumentsThatAreNoObjectAreNeverAllowedByACondition) {
  const TestRun run("[permissions]\nallow = ['a(x > 5 or not x > 5 or not present(x))']\n");
  const auto list = json::read("[6]");
  EXPECT_EQ(judge(run.policy, named("a"), {*list}, run.run).decision, Decision::kAsk);
}

TEST(Judge, TierOneFromABoxIsDeniedUnlessARuleNamesIt) {
  const std::string effects = "[effects]\n'p.*' = 'spend'\n";
  const auto says = [&](const std::string& permissions, Origin origin) {
    return TestRun("[permissions]\n" + permissions + effects).says("p.pay(x=1)", origin);
  };
  EXPECT_EQ(says("allow = ['p.*']\n", Origin::kBox), "deny: tier 1");
  EXPECT_EQ(says("allow = ['*']\n", Origin::kBox), "deny: tier 1");
  EXPECT_EQ(says("ask = ['@spend']\n", Origin::kBox), "deny: tier 1");
  EXPECT_EQ(says("ask = ['p.pa?']\n", Origin::kBox), "deny: tier 1");
  EXPECT_EQ(says("deny = ['p.pay(x == 2)']\n", Origin::kBox), "deny: tier 1");
  EXPECT_EQ(says("allow = ['p.pay']\n", Origin::kBox), "allow: permissions.allow: p.pay (line 2)");
  EXPECT_EQ(says("ask = ['p.pay']\n", Origin::kBox), "ask: permissions.ask: p.pay (line 2)");
  EXPECT_EQ(says("ask = ['p.pay(x > 5)']\n", Origin::kBox), "ask: default: ask");
  // A glob that covers it does not open it, though another rule names it.
  EXPECT_EQ(says("ask = ['p.pay(x > 5)']\nallow = ['p.*']\n", Origin::kBox), "ask: default: ask");
  EXPECT_EQ(says("ask = ['p.pay(x > 5)']\nallow = ['p.*']\n", Origin::kModel),
            "allow: permissions.allow: p.* (line 3)");
  EXPECT_EQ(says("allow = ['p.*']\n", Origin::kModel), "allow: permissions.allow: p.* (line 2)");
}

TEST(Judge, EveryEffectAndTheCatalogueMakeTierOne) {
  const TestRun run(
      "[permissions]\nallow = ['*', 'named']\n[tiers]\n'declared' = 1\n'free' = { tier = 2, override = 'so' "
      "}\n");
  const auto empty = json::read("{}");
  for (const Effect effect : kEffects) {
    Capability capability = named("x");
    capability.effects.add(effect);
    EXPECT_EQ(facts_of(run.policy, capability).tier, Tier::kOne);
    EXPECT_EQ(judge(run.policy, capability, {*empty}, run.run).decision, Decision::kDeny);
    capability.name = "named";
    EXPECT_EQ(judge(run.policy, capability, {*empty}, run.run).decision, Decision::kAllow);
    capability.name = "free";
    EXPECT_EQ(judge(run.policy, capability, {*empty}, run.run).decision, Decision::kAllow);
  }
  EXPECT_EQ(run.decides("declared()"), "deny");
  EXPECT_EQ(run.decides("x()"), "allow");
  Capability by_catalogue = named("x");
  by_catalogue.tier = Tier::kOne;
  EXPECT_EQ(judge(run.policy, by_catalogue, {*empty}, run.run).decision, Decision::kDeny);
}

TEST(Judge, FlowsTightenWhatIsAllowed) {
  const std::string file =
      "[permissions]\nallow = ['*', 'mail.send']\n"
      "[labels.sources]\n'web.*' = ['untrusted']\n'hr.*' = ['private']\n"
      "[labels.sinks]\n'mail.send' = 'external'\nstdout = 'shown'\n"
      "[[flow]]\nwhen = 'untrusted in run and sink == external'\nverdict = 'ask'\nreason = 'it read the "
      "web'\n"
      "[[flow]]\nwhen = 'untrusted in run and private in run and sink == external'\nverdict = 'deny'\nreason "
      "= 'both'\n"
      "[[flow]]\nwhen = 'private in run and (sink == shown or sink == result)'\nverdict = 'deny'\nreason = "
      "'p'\n";
  TestRun run(file);
  EXPECT_EQ(run.decides("mail.send()"), "allow");
  run.make("web.get()");
  EXPECT_EQ(run.decides("mail.send()"), "ask");
  EXPECT_EQ(run.verdict("mail.send()").grounds[0].reason, "it read the web (untrusted by web.get)");
  EXPECT_EQ(run.decides("web.get()"), "allow");
  EXPECT_EQ(judge_sink(run.policy, PseudoSink::kStdout, run.run).decision, Decision::kAllow);
  run.make("hr.read()");
  EXPECT_EQ(run.decides("mail.send()"), "deny");
  EXPECT_EQ(run.verdict("mail.send()").grounds.size(), 3U);
  EXPECT_EQ(judge_sink(run.policy, PseudoSink::kStdout, run.run).decision, Decision::kDeny);
  EXPECT_EQ(judge_sink(run.policy, PseudoSink::kResult, run.run).decision, Decision::kDeny);
  EXPECT_EQ(judge_sink(run.policy, PseudoSink::kArtifact, run.run).decision, Decision::kAllow);
  // The program begins with what its harness declares.
  EXPECT_EQ(TestRun(file, {"untrusted"}).decides("mail.send()"), "ask");
}

TEST(Judge, WhatNobodyClassedIsUntrustedAndExternal) {
  const std::string flow =
      "[[flow]]\nwhen = 'untrusted in run and sink == external'\nverdict = 'deny'\nreason = 'x'\n";
  TestRun nothing_said("[permissions]\nallow = ['*']\n" + flow);
  EXPECT_EQ(nothing_said.decides("a()"), "allow");
  nothing_said.make("a()");
  EXPECT_EQ(nothing_said.decides("a()"), "deny");
  TestRun said_to_be_none("[permissions]\nallow = ['*']\n[labels.sources]\n[labels.sinks]\n" + flow);
  said_to_be_none.make("a()");
  EXPECT_EQ(said_to_be_none.decides("a()"), "allow");
  // What acts on the outside is external although it is not listed.
  TestRun effects(
      "[permissions]\nallow = ['m', 'i']\n[effects]\nm = 'message'\ni = "
      "'irreversible'\n[labels.sources]\n[labels.sinks]\n" +
          flow,
      {"untrusted"});
  EXPECT_EQ(effects.decides("m()"), "deny");
  EXPECT_EQ(effects.decides("i()"), "allow");
}

TEST(Judge, LabelsOfTheCatalogueAndOfErrorsJoinToo) {
  TestRun run("[labels.sources]\n'web.*' = ['untrusted']\n");
  Capability capability = named("web.get");
  capability.labels = {"private"};
  deliver(run.policy, capability, run.run);
  EXPECT_TRUE(run.run.labels.has("untrusted"));
  EXPECT_TRUE(run.run.labels.has("private"));
  EXPECT_EQ(run.run.labels.all().at("untrusted"), "web.get");
}

TEST(Judge, BudgetsOfCalls) {
  TestRun run(
      "[permissions]\nallow = ['*']\n[[budgets.calls]]\nof = 'm.*'\nmax = 2\nbeyond = 'deny'\nreason = "
      "'enough'\n");
  run.make("m.a()");
  run.make("other()");
  EXPECT_EQ(run.decides("m.b()"), "allow");
  run.make("m.b()");
  EXPECT_EQ(run.says("m.a()"), "deny: budgets.calls of m.* (line 4)");
  EXPECT_EQ(run.verdict("m.a()").grounds[0].reason, "enough: more than 2 calls in this run");
  EXPECT_EQ(run.decides("other()"), "allow");
}

TEST(Judge, BudgetsOfDifferentValues) {
  TestRun run(
      "[permissions]\nallow = ['*']\n[[budgets.distinct]]\nof = 'm'\nargument = 'to[*]'\nmax = 3\nbeyond = "
      "'ask'\n");
  run.make("m(to=['a', 'b', 'a'])");
  EXPECT_EQ(run.decides("m(to=['a', 'b'])"), "allow");
  EXPECT_EQ(run.decides("m(to=['c'])"), "allow");
  EXPECT_EQ(run.decides("m(to=['c', 'd'])"), "ask");
  run.make("m(to=['c'])");
  EXPECT_EQ(run.decides("m(to=['d'])"), "ask");
  EXPECT_EQ(run.decides("m(to=['a'])"), "allow");
  for (const char* call : {"m()", "m(to=[])", "m(to='a')", "m(to=[1])", "m(to=['a', null])"}) {
    EXPECT_EQ(run.decides(call), "ask") << call;
  }
  EXPECT_EQ(run.decides("m(to=['" + std::string(kDistinctValueMax + 1, 'x') + "'])"), "ask");
}

TEST(Judge, BudgetsOfSumsAreExactAndPerCurrency) {
  TestRun run(
      "[permissions]\nallow = ['*']\n[[budgets.sum]]\nof = 'p'\nargument = 'amount'\nmax = ['0.3 EUR', '1e3 "
      "USD']\n"
      "beyond = 'deny'\n");
  run.make("p(amount=0.1, currency='EUR')");
  EXPECT_EQ(run.decides("p(amount=0.2, currency='EUR')"), "allow");
  EXPECT_EQ(run.decides("p(amount=0.20000000000000000001, currency='EUR')"), "deny");
  run.make("p(amount='0.2', currency='EUR')");
  EXPECT_EQ(run.decides("p(amount=0, currency='EUR')"), "allow");
  EXPECT_EQ(run.decides("p(amount=1e-400, currency='EUR')"), "deny");
  EXPECT_EQ(run.decides("p(amount=1000, currency='USD')"), "allow");
  for (const char* call :
       {"p()", "p(amount=1)", "p(amount=1, currency='GBP')", "p(amount=-1, currency='USD')",
        "p(amount='x', currency='USD')", "p(amount=1, currency=null)",
        "p(amount=1e999999999, currency='USD')", "p(amount=1, currency='usd')"}) {
    EXPECT_EQ(run.decides(call), "deny") << call;
  }
}

TEST(Judge, ASumWithoutCurrencyOverAList) {
  TestRun run(
      "[permissions]\nallow = ['*']\n[[budgets.sum]]\nof = 'p'\nargument = 'items[*].n'\nmax = '10'\nbeyond "
      "= 'ask'\n");
  EXPECT_EQ(run.decides("p(items=[{n=4}, {n=6}])"), "allow");
  EXPECT_EQ(run.decides("p(items=[{n=4}, {n=6.1}])"), "ask");
  EXPECT_EQ(run.decides("p(items=[{n=4}, {}])"), "ask");
  run.make("p(items=[{n=4}, {n=6}])");
  EXPECT_EQ(run.decides("p(items=[{n=0}])"), "allow");
  EXPECT_EQ(run.decides("p(items=[{n=0.0001}])"), "ask");
}

TEST(Judge, TheStrictestOfAllGroundsDecides) {
  TestRun run(
      "[permissions]\nallow = ['m']\n[effects]\nm = 'message'\n[labels.sources]\n[labels.sinks]\n"
      "[[flow]]\nwhen = 'untrusted in run'\nverdict = 'ask'\nreason = 'x'\n"
      "[[budgets.calls]]\nof = 'm'\nmax = 0\nbeyond = 'deny'\n",
      {"untrusted"});
  const Verdict verdict = run.verdict("m()");
  ASSERT_EQ(verdict.grounds.size(), 3U);
  EXPECT_EQ(verdict.grounds[0].kind, Ground::Kind::kBudget);
  EXPECT_EQ(verdict.grounds[1].kind, Ground::Kind::kFlow);
  EXPECT_EQ(verdict.grounds[2].kind, Ground::Kind::kPermission);
}

TEST(Judge, NamesThatNoCapabilityHasAreDenied) {
  const TestRun run("[permissions]\nallow = ['*']\n");
  const auto empty = json::read("{}");
  for (const char* name : {"", "a b", "stdout", "result", "é", "a\n"}) {
    EXPECT_EQ(judge(run.policy, named(name), {*empty}, run.run).decision, Decision::kDeny) << name;
  }
  EXPECT_EQ(judge(run.policy, named(std::string(kCapabilityNameMax + 1, 'a')), {*empty}, run.run).decision,
            Decision::kDeny);
}

TEST(Judge, WhatIsShownHasNoControls) {
  const TestRun run(
      "[permissions]\nask = [\"a('\\u001b[31m\\n' == 1)\"]\n[tiers]\na = { tier = 2, override = "
      "\"x\\u001b\\ny\" }\n"
      "[[flow]]\nwhen = 'sink == external'\nverdict = 'ask'\nreason = \"\\u001b\\n\"\n"
      "[[budgets.calls]]\nof = 'a'\nmax = 0\nbeyond = 'ask'\nreason = \"\\u001b\\n\"\n");
  std::string shown = facts_of(run.policy, named("a")).tier_why;
  const Verdict verdict = run.verdict("a()");
  EXPECT_EQ(verdict.grounds.size(), 3U);
  for (const Ground& ground : verdict.grounds) shown += ground.rule + ground.reason;
  for (const char byte : shown) EXPECT_GE(static_cast<unsigned char>(byte), 0x20) << shown;
}

TEST(Judge, AStateOfNoPolicyIsTakenForAnEmptyOne) {
  const TestRun run("[permissions]\nallow = ['*']\n[[budgets.calls]]\nof = 'm'\nmax = 1\nbeyond = 'deny'\n");
  const auto empty = json::read("{}");
  RunState fresh;
  EXPECT_EQ(judge(run.policy, named("m"), {*empty}, fresh).decision, Decision::kAllow);
  charge(run.policy, named("m"), {*empty}, fresh);
  EXPECT_EQ(judge(run.policy, named("m"), {*empty}, fresh).decision, Decision::kDeny);
}

TEST(Judge, LongArgumentsAreAnsweredAtOnce) {
  TestRun run(
      "[permissions]\ndeny = [\"*(x ~ '*a*a*a*a*b')\"]\nallow = [\"a(x ~ '*a')\"]\n"
      "[[budgets.distinct]]\nof = 'a'\nargument = 'x'\nmax = 5\nbeyond = 'deny'\n");
  const auto arguments = json::read(R"({"x":")" + std::string(200'000, 'a') + R"("})");
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(judge(run.policy, named("b"), {*arguments}, run.run).decision, Decision::kAsk);
  const Verdict verdict = judge(run.policy, named("a"), {*arguments}, run.run);
  EXPECT_EQ(verdict.decision, Decision::kDeny);
  EXPECT_LT(verdict.grounds[0].reason.size(), 400U);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

}  // namespace
}  // namespace casemate::policy
