// A writer is killed at each of its system calls that write, sync or rename, one after the other; and each
// time, of what is then on its files, also only that is left which a loss of power would have left at the
// least. After either, whatever was acknowledged is there, no effect is without its record, and verify finds
// nothing.
//
// The writer is a child that this process traces (ptrace(2)). It says on a pipe what was acknowledged to it,
// and on another, as a connector would act, what it has done. The pipes survive the kill.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <set>

#include "audit/layout.h"
#include "audit/test_crash.h"
#include "audit/test_support.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;

constexpr int kCalls = 5;

struct Pipes {
  sys::Pair acknowledged = *sys::make_pipe();
  sys::Pair effects = *sys::make_pipe();
};

void say(const sys::Fd& pipe, const std::string& line) {
  (void)!::write(pipe.get(), line.data(), line.size());
}

std::vector<std::string> heard(sys::Pair& pipe) {
  pipe.second.reset();
  return split(sys::read_file(pipe.first, 1 << 20).value(), '\n');
}

// What the child does: opens, judges, acts, records results, goes over segments, closes.
[[noreturn]] void write_log(const LogOptions& options, const Pipes& pipes) {
  const auto log = Log::open(options);
  if (!log) ::_exit(3);
  for (int i = 0; i < kCalls; ++i) {
    auto judged = (*log)->record(some_verdict(Answer::kAllow, "run_1", std::to_string(i)),
                                 Durability::kDurable, soon());
    if (!judged) ::_exit(4);
    const Recorded proof = std::get<Recorded>(std::move(*judged));
    say(pipes.acknowledged.second, proof.digest() + "\n");
    say(pipes.effects.second, proof.call() + "\n");
    if (!(*log)->append(some_result("run_1", proof.call()), Durability::kBuffered, soon())) ::_exit(5);
  }
  ::_exit((*log)->close() ? 0 : 6);
}

enum class Loss { kNone, kAll, kSome };

class CrashTest : public ::testing::Test {
 protected:
  // Lets a writer run up to a step. True when it came to its end before.
  bool run_to(const AuditDir& dir, Synced& synced, int step, Moment moment) {
    LogOptions options = dir.options();
    options.segment_max = kib(3);
    Pipes pipes;
    const pid_t child = ::fork();
    if (child == 0) {
      (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      (void)::raise(SIGSTOP);
      write_log(options, pipes);
    }
    const bool ended = Tracer(synced, step, moment).run(child);
    for (std::string& digest : heard(pipes.acknowledged)) heads_.heads.push_back(std::move(digest));
    for (std::string& call : heard(pipes.effects)) effects_.push_back(std::move(call));
    return ended;
  }

  void expect_whole(const AuditDir& dir) {
    // Before somebody opens it, a part of a record may be at its end, and nothing else is wrong.
    const std::string before = dir.first_fault();
    EXPECT_TRUE(before.empty() || before.starts_with("torn") ||
                before.starts_with("verify: there is no audit log"))
        << before;
    const auto log = dir.open();
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ(dir.first_fault(heads_), "");
    std::multiset<std::string> judged;
    for (std::uint32_t number = 1; fs::exists(dir.segment(number)); ++number) {
      for (const std::string& line : dir.lines(number)) {
        const auto members = read_members(line);
        ASSERT_TRUE(members);
        if (text_member(*members, "kind") == Verdict::kKind) judged.emplace(text_member(*members, "call"));
      }
    }
    for (const std::string& effect : effects_) {
      const auto found = judged.find(effect);
      EXPECT_NE(found, judged.end()) << "an effect without a verdict: " << effect;
      if (found != judged.end()) judged.erase(found);
    }
  }

  VerifyOptions heads_;
  std::vector<std::string> effects_;
};

class KillTest : public CrashTest, public ::testing::WithParamInterface<std::tuple<Moment, Loss>> {};

TEST_P(KillTest, AtEachStepLosesNothingThatWasAcknowledged) {
  const auto [moment, loss] = GetParam();
  std::mt19937_64 random(1);
  int step = 1;
  for (bool ended = false; !ended; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const AuditDir dir;
    Synced synced(dir.root());
    heads_.heads.clear();
    effects_.clear();
    ended = run_to(dir, synced, step, moment);
    if (loss != Loss::kNone) synced.lose_power(loss == Loss::kSome ? &random : nullptr);
    expect_whole(dir);
    if (HasFailure()) return;
  }
  std::printf("%d steps\n", step - 2);
  EXPECT_GT(step, 50);
  EXPECT_EQ(effects_.size(), kCalls);
}

// Who comes after a crash may rely on what its predecessor did only as far as that is on the disk.
TEST_F(CrashTest, AfterACrashLosesNothingThatWasAcknowledged) {
  std::mt19937_64 random(2);
  int first = 1;
  for (bool ended = false; !ended; ++first) {
    const AuditDir dir;
    Synced synced(dir.root());
    heads_.heads.clear();
    effects_.clear();
    ended = run_to(dir, synced, first, Moment::kAfter);
    const int second = 8 + static_cast<int>(random() % 30);
    SCOPED_TRACE("step " + std::to_string(first) + ", then step " + std::to_string(second));
    run_to(dir, synced, second, Moment::kBefore);
    synced.lose_power(nullptr);
    expect_whole(dir);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Crash, KillTest,
                         ::testing::Combine(::testing::Values(Moment::kBefore, Moment::kAfter),
                                            ::testing::Values(Loss::kNone, Loss::kAll, Loss::kSome)));

}  // namespace
}  // namespace casemate::audit
