#include "engine/switchboard.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

#include "frame/message.h"

namespace casemate::engine {
namespace {

// A warden that notes what it is told.
class Noted final : public box::WardenLine {
 public:
  const sys::Fd& readable() const override { return none_; }
  Result<void> tell(std::string_view message, std::span<const int>) override {
    told.emplace_back(message);
    return {};
  }
  Result<sys::Message> receive(Deadline) override {
    return fail(ErrorCode::kInternal, "the board reads nothing by itself");
  }
  std::vector<std::string> told;

 private:
  sys::Fd none_;
};

sys::Message ended(std::uint64_t box, std::uint32_t exit_code) {
  frame::BoxEnded message;
  message.header.box = box;
  message.cause = frame::EndCause::kProgram;
  message.has_status = 1;
  message.exit_code = exit_code;
  return {std::string(frame::bytes_of(message)), {}};
}

std::uint32_t code_of(const Result<box::WardenEvent>& event) {
  const auto* end = event ? std::get_if<frame::BoxEnded>(&*event) : nullptr;
  return end != nullptr ? end->exit_code : ~0U;
}

bool is_ready(const box::WardenLine& line) {
  pollfd item{line.readable().get(), POLLIN, 0};
  return ::poll(&item, 1, 0) == 1;
}

class SwitchboardTest : public testing::Test {
 protected:
  std::unique_ptr<Switchboard::Line> line(std::uint64_t box) {
    auto made = board_.line(box);
    EXPECT_TRUE(made);
    return made ? std::move(*made) : nullptr;
  }
  Noted warden_;
  Switchboard board_{warden_};
};

TEST_F(SwitchboardTest, ALineHasWhatIsSaidOfItsBoxInOrderAndNothingElse) {
  const auto one = line(1), two = line(2);
  for (std::uint32_t code = 0; code < 3; ++code) {
    EXPECT_FALSE(board_.hand_on(ended(1, code)));
    EXPECT_FALSE(board_.hand_on(ended(2, 10 + code)));
  }
  for (std::uint32_t code = 0; code < 3; ++code) {
    EXPECT_TRUE(is_ready(*one));
    EXPECT_EQ(code_of(one->next()), code);
    EXPECT_EQ(code_of(two->next()), 10 + code);
  }
  EXPECT_FALSE(is_ready(*one) || is_ready(*two));
}

TEST_F(SwitchboardTest, WhatIsAboutNoLineComesBack) {
  const auto one = line(1);
  const auto back = board_.hand_on(ended(3, 7));
  ASSERT_TRUE(back);
  EXPECT_EQ(box::subject_of(back->bytes), 3U);
  EXPECT_TRUE(board_.hand_on({"short", {}})) << "about nothing";
  EXPECT_FALSE(is_ready(*one));
}

TEST_F(SwitchboardTest, WhatALineHasNotReadIsGivenBackWhenItEnds) {
  auto one = line(1);
  EXPECT_FALSE(board_.hand_on(ended(1, 4)));
  EXPECT_FALSE(board_.hand_on(ended(1, 5)));
  EXPECT_EQ(code_of(one->next()), 4U);
  const std::vector<box::WardenEvent> unread = one->close();
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(std::get<frame::BoxEnded>(unread[0]).exit_code, 5U);
  EXPECT_TRUE(board_.hand_on(ended(1, 6))) << "it is about no run any more";
  const auto again = line(1);  // the next run in the same sandbox
  one.reset();
  EXPECT_FALSE(board_.hand_on(ended(1, 7))) << "the end of the first is not that of the second";
  EXPECT_EQ(code_of(again->next()), 7U);
}

TEST_F(SwitchboardTest, AnAnswerThatIsWaitedForLetsOthersWait) {
  const auto one = line(1);
  std::thread warden([&] {
    EXPECT_FALSE(board_.hand_on(ended(1, 4)));
    frame::BoxGone gone;
    gone.header.box = 1;
    gone.destroyed = 1;
    EXPECT_FALSE(board_.hand_on({std::string(frame::bytes_of(gone)), {}}));
  });
  const auto gone = one->destroy_box(1, Deadline::in(milliseconds{20'000}));
  warden.join();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->destroyed, 1U);
  EXPECT_EQ(warden_.told.size(), 1U);
  ASSERT_TRUE(one->has_events());
  EXPECT_EQ(code_of(one->next()), 4U);
}

TEST_F(SwitchboardTest, AWardenThatIsGoneIsGoneForEachLineAndForThoseThatCome) {
  const auto before = line(1);
  EXPECT_FALSE(board_.hand_on(ended(1, 4)));
  board_.lose();
  const auto after = line(2);
  EXPECT_EQ(code_of(before->next()), 4U) << "what was said is said";
  for (const auto* each : {&before, &after}) {
    EXPECT_TRUE(is_ready(**each));
    const auto end = (*each)->next();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::kUnavailable);
  }
}

TEST_F(SwitchboardTest, AWaitHasAnEnd) {
  const auto one = line(1);
  const auto gone = one->destroy_box(1, Deadline::in(milliseconds{20}));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kDeadline);
}

TEST_F(SwitchboardTest, ManyLinesAtOnce) {
  constexpr std::uint64_t kLines = 16;
  constexpr std::uint32_t kEach = 500;
  std::vector<std::unique_ptr<Switchboard::Line>> lines;
  for (std::uint64_t box = 1; box <= kLines; ++box) lines.push_back(line(box));
  std::vector<std::thread> runs;
  for (const auto& each : lines)
    runs.emplace_back([&each] {
      for (std::uint32_t code = 0; code < kEach; ++code) {
        ASSERT_TRUE(sys::wait_readable(each->readable(), Deadline::in(milliseconds{20'000})).value());
        ASSERT_EQ(code_of(each->next()), code);
      }
    });
  for (std::uint32_t code = 0; code < kEach; ++code)
    for (std::uint64_t box = 1; box <= kLines; ++box) EXPECT_FALSE(board_.hand_on(ended(box, code)));
  for (std::thread& run : runs) run.join();
}

}  // namespace
}  // namespace casemate::engine
