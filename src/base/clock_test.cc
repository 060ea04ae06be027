#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace casemate {
namespace {

const Instant kStart = Instant{} + std::chrono::hours{5};

TEST(Deadline, PassesAtItsInstantAndNotBefore) {
  const Deadline deadline = Deadline::at(kStart);
  EXPECT_FALSE(deadline.passed(kStart - Instant::duration{1}));
  EXPECT_TRUE(deadline.passed(kStart));
  EXPECT_TRUE(deadline.passed(kStart + Instant::duration{1}));
}

TEST(Deadline, RoundsWhatIsLeftUpSoThatAWaitNeverEndsEarly) {
  const Deadline deadline = Deadline::at(kStart);
  EXPECT_EQ(deadline.poll_timeout_ms(kStart - milliseconds{7}), 7);
  EXPECT_EQ(deadline.poll_timeout_ms(kStart - milliseconds{6} - std::chrono::nanoseconds{1}), 7);
  EXPECT_EQ(deadline.poll_timeout_ms(kStart - std::chrono::nanoseconds{1}), 1);
}

TEST(Deadline, LeavesNothingOncePassed) {
  const Deadline deadline = Deadline::at(kStart);
  EXPECT_EQ(deadline.poll_timeout_ms(kStart), 0);
  EXPECT_EQ(deadline.poll_timeout_ms(kStart + std::chrono::hours{9}), 0);
}

// poll(2) takes an int, and waits for ever when that is negative.
TEST(Deadline, NeverOverflowsWhatPollTakes) {
  const Deadline deadline = Deadline::at(Instant::max());
  EXPECT_EQ(deadline.poll_timeout_ms(kStart), 1 << 30);
}

TEST(Deadline, InASpanLiesAhead) {
  const Instant before = now();
  const Deadline deadline = Deadline::in(milliseconds{250});
  EXPECT_GE(deadline.instant(), before + milliseconds{250});
  EXPECT_LE(deadline.instant(), now() + milliseconds{250});
}

}  // namespace
}  // namespace casemate
