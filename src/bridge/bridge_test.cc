#include "bridge/bridge.h"

#include <gtest/gtest.h>

#include "bridge/test_support.h"
#include "json/reader.h"

namespace casemate::bridge {
namespace {

constexpr const char* kAllow = "[permissions]\nallow = [\"*\"]\n[labels.sources]\n";

TEST_F(BridgeTest, ACallIsRecordedTwiceAndAnsweredOnce) {
  tool("a.b");
  start(kAllow);
  call("a.b", R"({"n":1})");
  const auto told = answers(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].json, R"({"n":1})");
  EXPECT_EQ(log_->counts().records, 2U);
  ASSERT_EQ(bridge_->told().size(), 1U);
  EXPECT_EQ(bridge_->told()[0].status, "ok");
  EXPECT_EQ(bridge_->told()[0].verdict, "allow");
}

TEST_F(BridgeTest, WhatIsDeniedNeverReachesAConnector) {
  tool("a.b");
  start("default = \"deny\"\n[labels.sources]\n");
  call("a.b");
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
  EXPECT_EQ(fake_->calls, 0);
  EXPECT_EQ(log_->counts().records, 1U);
}

TEST_F(BridgeTest, WhatCannotBeRecordedIsNotCalled) {
  tool("a.b", {}, true);
  start(kAllow);
  ASSERT_TRUE(log_->close());
  call("a.b");
  const auto told = answers(1);
  EXPECT_EQ(told.at(0).status, frame::ReplyStatus::kError);
  EXPECT_EQ(code(told[0]), "unavailable");
  EXPECT_EQ(fake_->calls, 0);
}

TEST_F(BridgeTest, WhatWasDoneAndCannotBeRecordedIsNoResult) {
  tool("a.b", {}, true);
  start(kAllow);
  fake_->answer = [&](const ConnectorCall&) {
    (void)log_->close();
    return ConnectorAnswer{Kind::kValue, "7"};
  };
  call("a.b");
  const auto told = answers(1);
  EXPECT_EQ(told.at(0).status, frame::ReplyStatus::kError);
  EXPECT_NE(told[0].json.find("\"effect\":null"), std::string::npos) << told[0].json;
  EXPECT_EQ(fake_->calls, 1);
}

constexpr const char* kFlow = R"([permissions]
allow = ["*"]
[labels.sources]
[labels.sinks]
"mail.send" = "external"
[[flow]]
when = "untrusted in run and sink == external"
verdict = "deny"
reason = "read"
)";

// The label joins before the answer is queued, whatever the answer is.
TEST_F(BridgeTest, LabelsJoinBeforeTheGuestHasAByte) {
  for (const Kind kind : {Kind::kValue, Kind::kToolError, Kind::kUnknown, Kind::kDeclined}) {
    fake_->answer = [kind](const ConnectorCall&) { return ConnectorAnswer{kind, "1"}; };
    tool("web.fetch", {"untrusted"});
    tool("mail.send");
    start(kFlow);
    call("mail.send");
    call("web.fetch");
    EXPECT_TRUE(bridge_->labels().has("untrusted"));
    call("mail.send");
    const auto told = answers(3);
    ASSERT_EQ(told.size(), 3U);
    EXPECT_NE(told[0].status, frame::ReplyStatus::kDenied);
    EXPECT_EQ(told[2].status, frame::ReplyStatus::kDenied);
  }
}

TEST_F(BridgeTest, ACallThatWasNotReachedBringsNoLabel) {
  fake_->answer = [](const ConnectorCall&) { return ConnectorAnswer{Kind::kNotDone, "down"}; };
  tool("web.fetch", {"untrusted"});
  start(kFlow);
  call("web.fetch");
  EXPECT_EQ(code(answers(1).at(0)), "unavailable");
  EXPECT_FALSE(bridge_->labels().has("untrusted"));
}

// An answer that is under way has no labels yet for the guest, since it has no byte of it; when the guest has
// a byte, the next verdict knows.
TEST_F(BridgeTest, AnAnswerOnAThreadJoinsWhenItIsCollected) {
  fake_->at_once = false;
  tool("web.fetch", {"untrusted"}, true);
  tool("mail.send", {}, true);
  start(kFlow);
  call("web.fetch");
  EXPECT_FALSE(bridge_->labels().has("untrusted"));
  EXPECT_TRUE(bridge_->pending().empty());
  EXPECT_EQ(answers(1).size(), 1U);
  EXPECT_TRUE(bridge_->labels().has("untrusted"));
  call("mail.send");
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
}

TEST_F(BridgeTest, ResultsThatAreNoneAreUnknown) {
  tool("a.b");
  auto schema = schema::Schema::compile(json::read(R"({"type":"integer"})").value());
  tools_[0].result = *schema;
  CallLimits limits;
  limits.result = Bytes{10};
  start(kAllow, limits);
  for (const char* text : {"", "[", "\"x\"", "1.5", "[1][2]", "NaN", "12345678901"}) {
    fake_->answer = [text](const ConnectorCall&) { return ConnectorAnswer{Kind::kValue, text}; };
    call("a.b");
    const auto told = answers(1);
    EXPECT_EQ(code(told.at(0)), "unknown") << text;
  }
  fake_->answer = [](const ConnectorCall&) { return ConnectorAnswer{Kind::kValue, "1234567890"}; };
  call("a.b");
  EXPECT_EQ(answers(1).at(0).json, "1234567890");
}

TEST_F(BridgeTest, NoMoreAreAtWorkThanMayBeAndTheOthersWait) {
  fake_->at_once = false;
  fake_->held = true;
  tool("a.b", {}, true);
  CallLimits limits;
  limits.parallel = 2;
  limits.waiting = 3;
  start(kAllow, limits);
  for (int i = 0; i < 7; ++i) call("a.b");
  const auto refused = answers(2);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(code(refused[0]), "exhausted");
  EXPECT_LE(fake_->calls, 2);
  fake_->held = false;
  EXPECT_EQ(answers(5).size(), 5U);
  EXPECT_EQ(fake_->calls, 5);
}

TEST_F(BridgeTest, AGuestThatDoesNotReadGetsNoMore) {
  tool("a.b");
  CallLimits limits;
  limits.unread = Bytes{100};
  start(kAllow, limits);
  const std::string long_argument = R"({"t":")" + std::string(200, 'x') + "\"}";
  for (int i = 0; i < 5; ++i) call("a.b", long_argument);
  EXPECT_EQ(fake_->calls, 1);
  EXPECT_EQ(answers(5).size(), 5U);
  EXPECT_EQ(fake_->calls, 5);
}

TEST_F(BridgeTest, ARunHasSoManyCallsAndNoMore) {
  tool("a.b");
  CallLimits limits;
  limits.calls = 3;
  start(kAllow, limits);
  for (int i = 0; i < 4; ++i) call("a.b");
  const auto told = answers(4);
  EXPECT_EQ(code(told.at(3)), "exhausted");
  EXPECT_EQ(fake_->calls, 3);
}

TEST_F(BridgeTest, WhatIsUnderWayAtTheEndIsRecordedAndNobodyIsTold) {
  fake_->at_once = false;
  fake_->held = true;
  tool("a.b", {}, true);
  start(kAllow);
  call("a.b");
  while (fake_->calls == 0) std::this_thread::sleep_for(milliseconds{1});
  bridge_->stop();
  call("a.b");
  fake_->held = false;
  bridge_.reset();
  workers_.reset();
  EXPECT_EQ(fake_->calls, 1);
  EXPECT_EQ(log_->counts().records, 2U);
}

TEST_F(BridgeTest, BudgetsAreCharged) {
  tool("pay.send");
  start(
      "[permissions]\nallow = [\"*\"]\n[labels.sources]\n[[budgets.calls]]\nof = \"pay.*\"\nmax = 2\nbeyond "
      "= \"deny\"\n");
  for (int i = 0; i < 3; ++i) call("pay.send");
  const auto told = answers(3);
  EXPECT_EQ(told.at(1).status, frame::ReplyStatus::kValue);
  EXPECT_EQ(told.at(2).status, frame::ReplyStatus::kDenied);
}

}  // namespace
}  // namespace casemate::bridge
