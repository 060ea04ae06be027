#include <gtest/gtest.h>

#include "bridge/test_support.h"

namespace casemate::bridge {
namespace {

using approve::Answer;

constexpr const char* kAsk =
    "[permissions]\ndeny = [\"a.b(to == 'nobody')\"]\nask = [\"a.b\"]\nallow = [\"c.d\"]\n[labels.sources]\n";

class AsksTest : public BridgeTest {
 protected:
  void SetUp() override {
    BridgeTest::SetUp();
    asks_ = true;
  }
  // Until so many wait.
  void wait(std::size_t asks) {
    const Deadline until = Deadline::in(milliseconds{5000});
    while (bridge_->asks() != asks && !until.passed(now())) {
      pollfd item{bridge_->finished().get(), POLLIN, 0};
      if (::poll(&item, 1, 100) > 0) bridge_->collect();
    }
    ASSERT_EQ(bridge_->asks(), asks);
  }
  Result<void> say(Answer::Kind kind, std::optional<std::string> arguments = std::nullopt) {
    const auto waiting = desk_.pending();
    if (waiting.empty()) return fail(ErrorCode::kNotFound, "none");
    return desk_.answer(waiting.front().question->id, {kind, "me", "", std::move(arguments)}, now());
  }
};

TEST_F(AsksTest, NothingIsMadeBeforeItIsAllowed) {
  tool("a.b");
  start(kAsk);
  call("a.b", R"({"to":"x"})");
  wait(1);
  EXPECT_EQ(fake_->calls, 0);
  EXPECT_TRUE(bridge_->pending().empty());
  EXPECT_EQ(log_->counts().records, 1U);
  ASSERT_TRUE(say(Answer::Kind::kAllow));
  EXPECT_EQ(answers(1).at(0).json, R"({"to":"x"})");
  EXPECT_EQ(log_->counts().records, 3U);
  EXPECT_EQ(bridge_->told()[0].asked->answer, "allow");
  EXPECT_FALSE(bridge_->told()[0].asked->edited);
}

TEST_F(AsksTest, WhatIsEditedIsJudgedAgain) {
  tool("a.b");
  start(kAsk);
  call("a.b", R"({"to":"x"})");
  call("a.b", R"({"to":"y"})");
  wait(2);
  ASSERT_TRUE(say(Answer::Kind::kAllow, R"({"to":"z"})"));
  EXPECT_EQ(answers(1).at(0).json, R"({"to":"z"})");
  ASSERT_TRUE(say(Answer::Kind::kAllow, R"({"to":"nobody"})"));
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
  EXPECT_EQ(fake_->calls, 1);
}

constexpr const char* kFlowDeny = R"([permissions]
ask = ["a.b"]
allow = ["c.d"]
[labels.sources]
[labels.sinks]
"a.b" = "external"
[[flow]]
when = "untrusted in run and sink == external"
verdict = "deny"
reason = "read"
)";

// Another call's labels came while the question waited.
TEST_F(AsksTest, LabelsThatCameMeanwhileCount) {
  tool("a.b");
  tool("c.d", {"untrusted"});
  start(kFlowDeny);
  call("a.b");
  wait(1);
  call("c.d");
  EXPECT_EQ(answers(1).size(), 1U);
  ASSERT_TRUE(say(Answer::Kind::kAllow));
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
  EXPECT_EQ(fake_->calls, 1);
}

// With the arguments that it is made with, whatever was asked for; what was denied costs nothing.
TEST_F(AsksTest, WhatAPersonAllowsIsCharged) {
  tool("a.b");
  start(
      "[permissions]\nask = [\"a.b\"]\n[labels.sources]\n"
      "[[budgets.sum]]\nof = \"a.b\"\nargument = \"n\"\nmax = \"10\"\nbeyond = \"deny\"\n");
  const auto made = [&](const char* asked, Answer::Kind kind, std::optional<std::string> edited = {}) {
    call("a.b", asked);
    wait(1);
    EXPECT_TRUE(say(kind, std::move(edited)));
    return answers(1).at(0).status == frame::ReplyStatus::kValue;
  };
  EXPECT_FALSE(made(R"({"n":9})", Answer::Kind::kDeny));
  EXPECT_TRUE(made(R"({"n":9})", Answer::Kind::kAllow, R"({"n":4})"));
  EXPECT_TRUE(made(R"({"n":6})", Answer::Kind::kAllow));
  call("a.b", R"({"n":0.01})");
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied) << "by policy, and nobody is asked";
  EXPECT_EQ(fake_->calls, 2);
}

TEST_F(AsksTest, IsStillOnlyWhenNothingElseIsUnderWay) {
  tool("a.b");
  tool("c.d", {}, /*durable=*/true);
  fake_->at_once = false;
  start(kAsk);
  call("a.b", R"({"to":"x"})");
  wait(1);
  const Instant later = now() + milliseconds{60'000};
  EXPECT_FALSE(bridge_->still(bridge_->still_from() - milliseconds{1}));
  EXPECT_TRUE(bridge_->still(later));
  fake_->held = true;
  call("c.d");
  EXPECT_FALSE(bridge_->still(later)) << "a call is at work";
  fake_->held = false;
  const Deadline until = Deadline::in(milliseconds{5000});
  while (bridge_->pending().empty() && !until.passed(now())) {
    pollfd item{bridge_->finished().get(), POLLIN, 0};
    if (::poll(&item, 1, 100) > 0) bridge_->collect();
  }
  EXPECT_FALSE(bridge_->still(later)) << "its answer is on its way";
  EXPECT_EQ(answers(1).size(), 1U);
  EXPECT_TRUE(bridge_->still(later));
}

TEST_F(AsksTest, TimeThatIsOverDenies) {
  tool("a.b");
  start(kAsk);
  call("a.b", R"({"to":"x"})");
  wait(1);
  bridge_->expire(bridge_->ask_until()->instant() - milliseconds{1});
  EXPECT_EQ(desk_.pending().size(), 1U);
  bridge_->expire(bridge_->ask_until()->instant());
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
  EXPECT_FALSE(bridge_->ask_until());
  EXPECT_FALSE(say(Answer::Kind::kAllow));
}

// Each asked verdict has its approval in the log, at whatever moment the run ends.
TEST_F(AsksTest, TheEndOfTheRunIsRecordedAsItsAnswer) {
  for (const bool asked : {true, false}) {
    tool("a.b", {}, /*durable=*/true);
    start(kAsk);
    const std::uint64_t before = log_->counts().records;
    call("a.b", R"({"to":"x"})");
    if (asked) wait(1);
    bridge_.reset();
    workers_.reset();
    EXPECT_EQ(log_->counts().records, before + 2) << asked;
    EXPECT_TRUE(desk_.pending().empty());
    EXPECT_EQ(fake_->calls, 0);
  }
}

}  // namespace
}  // namespace casemate::bridge
