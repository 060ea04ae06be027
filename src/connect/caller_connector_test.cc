#include "connect/caller_connector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "audit/test_support.h"

namespace casemate::connect {
namespace {

using bridge::ConnectorAnswer;
using Kind = ConnectorAnswer::Kind;

class CallerConnectorTest : public ::testing::Test {
 protected:
  CallerConnectorTest() { log_ = audit::Log::open({folder_.path(), "test"}).value(); }

  ConnectorAnswer call(CallerConnector& connector, const std::string& key, milliseconds time) {
    auto judged = log_->record(audit::some_verdict(audit::Answer::kAllow, "run_1", key),
                               audit::Durability::kBuffered, audit::soon());
    bridge::ConnectorCall call;
    call.capability = "ledger.read";
    call.arguments = "{\"n\": 1}";
    call.run = "run_1";
    call.idempotency_key = key;
    return connector.call(std::get<audit::Recorded>(std::move(judged.value())), call, Deadline::in(time));
  }

  sys::TestDir folder_;
  std::unique_ptr<audit::Log> log_;
};

constexpr milliseconds kLong{30'000};

TEST_F(CallerConnectorTest, ACallIsTakenAndAnswered) {
  CallerConnector connector;
  std::thread answering([&] {
    auto taken = connector.take(Deadline::in(kLong));
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->capability(), "ledger.read");
    EXPECT_EQ(taken->arguments(), "{\"n\": 1}");
    EXPECT_EQ(taken->run(), "run_1");
    EXPECT_EQ(taken->idempotency_key(), "k");
    EXPECT_TRUE(std::move(*taken).answer({Kind::kValue, "[1]"}));
  });
  const ConnectorAnswer answer = call(connector, "k", kLong);
  answering.join();
  EXPECT_EQ(answer.kind, Kind::kValue);
  EXPECT_EQ(answer.text, "[1]");
}

TEST_F(CallerConnectorTest, WhatNobodyTookIsNotDoneAndNeverTaken) {
  CallerConnector connector;
  EXPECT_EQ(call(connector, "k", milliseconds{20}).kind, Kind::kNotDone);
  EXPECT_FALSE(connector.take(Deadline::in(milliseconds{0})));
}

TEST_F(CallerConnectorTest, WhatWasTakenAndNotAnsweredIsUnknownAndALateAnswerIsNone) {
  CallerConnector connector;
  std::optional<CallerConnector::Taken> held;
  std::thread taking([&] {
    if (auto taken = connector.take(Deadline::in(kLong))) held.emplace(std::move(*taken));
  });
  EXPECT_EQ(call(connector, "k", milliseconds{500}).kind, Kind::kUnknown);
  taking.join();
  ASSERT_TRUE(held);
  EXPECT_FALSE(std::move(*held).answer({Kind::kValue, "1"}));
}

TEST_F(CallerConnectorTest, WhatIsDroppedIsUnknownAtOnce) {
  CallerConnector connector;
  std::thread dropping([&] { (void)connector.take(Deadline::in(kLong)); });
  const Instant begun = now();
  EXPECT_EQ(call(connector, "k", kLong).kind, Kind::kUnknown);
  EXPECT_LT(now() - begun, kLong / 2);
  dropping.join();
}

// Its text may come from outside, and only what was reached brings labels.
TEST_F(CallerConnectorTest, WhoTookACallHasReachedIt) {
  CallerConnector connector;
  std::thread declining([&] {
    if (auto taken = connector.take(Deadline::in(kLong)))
      (void)std::move(*taken).answer({Kind::kNotDone, "no"});
  });
  EXPECT_EQ(call(connector, "k", kLong).kind, Kind::kDeclined);
  declining.join();
}

TEST_F(CallerConnectorTest, MoreThanMayWaitAreNotDone) {
  CallerConnector one({/*waiting_max=*/1});
  EXPECT_EQ(call(one, "a", milliseconds{20}).text, "nobody took it in time");
  CallerConnector none({/*waiting_max=*/0});
  const ConnectorAnswer answer = call(none, "b", kLong);
  EXPECT_EQ(answer.kind, Kind::kNotDone);
  EXPECT_EQ(answer.text, "too many calls wait to be answered");
}

TEST_F(CallerConnectorTest, ClosedIsNotDone) {
  CallerConnector connector;
  std::thread waiting([&] { EXPECT_EQ(call(connector, "a", kLong).kind, Kind::kNotDone); });
  connector.close();
  waiting.join();
  EXPECT_EQ(call(connector, "b", kLong).kind, Kind::kNotDone);
  EXPECT_FALSE(connector.take(Deadline::in(kLong)));
}

// What one side counts, the other counts: no call is answered twice, lost, or done and told as not done.
TEST_F(CallerConnectorTest, ManyAtOnceAgreeOnWhatWasDone) {
  constexpr int kThreads = 4, kCalls = 100;
  CallerConnector connector;
  std::atomic<int> taken = 0, values = 0, unknown = 0, not_done = 0;
  std::vector<std::thread> answering, calling;
  for (int i = 0; i < 2; ++i)
    answering.emplace_back([&] {
      while (auto one = connector.take(Deadline::in(milliseconds{1000}))) {
        if (++taken % 7 == 0) std::this_thread::yield();
        (void)std::move(*one).answer({Kind::kValue, "1"});
      }
    });
  for (int t = 0; t < kThreads; ++t)
    calling.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const std::string key = std::to_string(t) + "-" + std::to_string(i);
        const ConnectorAnswer answer = call(connector, key, i % 3 == 0 ? milliseconds{0} : milliseconds{50});
        ++(answer.kind == Kind::kValue ? values : answer.kind == Kind::kUnknown ? unknown : not_done);
      }
    });
  for (std::thread& thread : calling) thread.join();
  for (std::thread& thread : answering) thread.join();
  EXPECT_EQ(values + unknown + not_done, kThreads * kCalls);
  EXPECT_EQ(values + unknown, taken);
  EXPECT_GT(values, 0);
}

}  // namespace
}  // namespace casemate::connect
