#include "bench/launch.h"

#include <gtest/gtest.h>

#include "sys/test_support.h"

namespace casemate::bench {
namespace {

Launch shell(const std::string& script) {
  return {"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}};
}

TEST(Launch, TellsWhatAProcessPrintedAndHowItEnded) {
  const auto ended = launch(shell("echo said; echo why >&2; exit 3"));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->out, "said\n");
  EXPECT_EQ(ended->err, "why\n");
  EXPECT_EQ(ended->exit_code, 3);
  EXPECT_GT(ended->ms, 0);
}

TEST(Launch, OfAKilledProcessHasItsSignal) { EXPECT_EQ(launch(shell("kill -9 $$"))->exit_code, -9); }

TEST(Launch, OfAContainerHasANameOfItsOwnAndRemovesWhatAFailedOneLeft) {
  Launch one = shell("echo $0");
  one.removal = {"sh", "-c", "exit 0"};
  const auto first = launch(one);
  const auto second = launch(one);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->out.rfind("casemate-bench-", 0), 0U) << first->out;
  EXPECT_NE(first->out, second->out);
}

TEST(Sample, IsOnlyOneThatIsRight) {
  EXPECT_TRUE(sample_of(shell("echo 1 False"), "1 False\n"));
  for (const char* wrong :
       {"echo 1 True", "true", "echo 1 False; exit 1", "echo 1 False; echo 2", "kill -9 $$"}) {
    const auto sample = sample_of(shell(wrong), "1 False\n");
    ASSERT_FALSE(sample) << wrong;
    EXPECT_EQ(sample.error().code, ErrorCode::kInternal);
    EXPECT_NE(sample.error().message.find("/bin/sh"), std::string::npos);
  }
}

TEST(Sample, OfAProgramThatIsNotThereSaysSo) {
  const auto sample = sample_of({"/no/such", {"such"}, {}, {}}, "");
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().code, sys::kVforkIsFork ? ErrorCode::kInternal : ErrorCode::kNotFound);
}

}  // namespace
}  // namespace casemate::bench
