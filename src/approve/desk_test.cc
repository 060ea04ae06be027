#include "approve/desk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace casemate::approve {
namespace {

using Kind = Answer::Kind;

class DeskTest : public testing::Test {
 protected:
  Result<void> ask(const std::string& id, const std::string& run = "run_1",
                   milliseconds time = milliseconds{1000}) {
    const auto check = [](const std::string& text) -> Result<std::string> {
      if (text != "{}") return fail(ErrorCode::kInvalid, "not that");
      return text;
    };
    return desk_.ask({id, run, "a.b", "{}", {}, "rule", "reason"}, at_, Deadline::at(at_ + time), check,
                     [this, id](Answer answer) { settled_[id].push_back(std::move(answer)); });
  }
  Result<void> answer(const std::string& id, Kind kind, std::optional<std::string> arguments = std::nullopt) {
    return desk_.answer(id, {kind, "me", "", std::move(arguments)}, at_);
  }

  Desk desk_;
  Instant at_ = Instant{} + milliseconds{1'000'000};
  std::map<std::string, std::vector<Answer>> settled_;
};

TEST_F(DeskTest, IsAnsweredOnce) {
  ASSERT_TRUE(ask("c1"));
  ASSERT_TRUE(answer("c1", Kind::kAllow));
  const auto again = answer("c1", Kind::kDeny);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kDenied);
  EXPECT_EQ(again.error().message, "c1: it was allowed already (me)");
  ASSERT_EQ(settled_["c1"].size(), 1U);
  EXPECT_EQ(settled_["c1"][0].kind, Kind::kAllow);
  EXPECT_TRUE(desk_.pending().empty());
}

TEST_F(DeskTest, ALateAnswerIsRefused) {
  ASSERT_TRUE(ask("c1"));
  at_ += milliseconds{1000};
  const auto late = answer("c1", Kind::kAllow);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message, "c1: nobody answered in time, so it was denied");
  ASSERT_EQ(settled_["c1"].size(), 1U);
  EXPECT_EQ(settled_["c1"][0].kind, Kind::kExpired);
}

TEST_F(DeskTest, TimeEndsThoseWhoseTimeItIs) {
  ASSERT_TRUE(ask("c1"));
  ASSERT_TRUE(ask("c2", "run_1", milliseconds{2000}));
  at_ += milliseconds{1500};
  desk_.expire(at_);
  EXPECT_EQ(settled_["c1"].size(), 1U);
  EXPECT_TRUE(settled_["c2"].empty());
}

TEST_F(DeskTest, ArgumentsThatWillNotDoLeaveItWaiting) {
  ASSERT_TRUE(ask("c1"));
  const auto bad = answer("c1", Kind::kAllow, "[]");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(desk_.pending().size(), 1U);
  ASSERT_TRUE(answer("c1", Kind::kAllow, "{}"));
  EXPECT_EQ(settled_["c1"][0].arguments, "{}");
}

TEST_F(DeskTest, TheEndOfARunEndsItsQuestionsAlone) {
  ASSERT_TRUE(ask("c1", "run_1"));
  ASSERT_TRUE(ask("c2", "run_2"));
  desk_.close("run_1");
  EXPECT_EQ(settled_["c1"].at(0).kind, Kind::kOver);
  EXPECT_TRUE(settled_["c2"].empty());
  EXPECT_EQ(answer("c1", Kind::kAllow).error().message, "c1: its run is over");
  EXPECT_EQ(answer("c3", Kind::kAllow).error().code, ErrorCode::kNotFound);
}

TEST_F(DeskTest, RefusesMoreThanMayWait) {
  for (std::size_t i = 0; i < kPendingMax; ++i) ASSERT_TRUE(ask("c" + std::to_string(i)));
  const auto more = ask("more");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kExhausted);
  ASSERT_TRUE(answer("c0", Kind::kDeny));
  EXPECT_TRUE(ask("more"));
}

TEST_F(DeskTest, ACallAsksOnce) {
  ASSERT_TRUE(ask("c1"));
  EXPECT_FALSE(ask("c1"));
  ASSERT_TRUE(answer("c1", Kind::kDeny));
  EXPECT_FALSE(ask("c1")) << "an answer that is on its way would be this one's";
}

// Whatever comes in whatever order: each question is settled once, by the first that could, and nobody is
// told that an answer counts which does not.
TEST_F(DeskTest, AnyOrderSettlesEachOnce) {
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Desk desk;
    std::map<std::string, int> settled;
    std::map<std::string, Kind> became;
    std::map<std::string, Kind> accepted;
    std::map<std::string, std::pair<std::string, Instant>> asked;
    std::vector<std::string> closed;
    Instant at = Instant{} + milliseconds{1'000'000};
    for (int step = 0; step < 60; ++step) {
      at += milliseconds{random() % 20};
      const std::string id = "c" + std::to_string(random() % 8), run = "run_" + std::to_string(random() % 2);
      switch (random() % 6) {
        case 0:
        case 1: {
          const Deadline until = Deadline::at(at + milliseconds{random() % 200});
          const auto put = desk.ask(
              {id, run, "a.b", "{}"}, at, until,
              [](const std::string& text) -> Result<std::string> { return text; },
              [&settled, &became, id](Answer answer) {
                ++settled[id];
                became[id] = answer.kind;
              });
          EXPECT_EQ(put.has_value(), !asked.contains(id));
          if (put) asked[id] = {run, until.instant()};
          break;
        }
        case 2:
        case 3: {
          const Kind kind = random() % 2 == 0 ? Kind::kAllow : Kind::kDeny;
          const bool could = asked.contains(id) && settled[id] == 0 && at < asked[id].second;
          const bool did = desk.answer(id, {kind, "me"}, at).has_value();
          EXPECT_EQ(did, could);
          if (did) accepted[id] = kind;
          break;
        }
        case 4: desk.expire(at); break;
        default: desk.close(run);
      }
      for (const auto& [which, times] : settled) EXPECT_LE(times, 1) << which;
    }
    desk.close("run_0");
    desk.close("run_1");
    EXPECT_TRUE(desk.pending().empty());
    for (const auto& [id, about] : asked) EXPECT_EQ(settled[id], 1) << id;
    for (const auto& [id, kind] : accepted) EXPECT_EQ(became[id], kind) << id;
  }
}

}  // namespace
}  // namespace casemate::approve
