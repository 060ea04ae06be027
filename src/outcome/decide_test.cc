#include "outcome/decide.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace casemate::outcome {
namespace {

using frame::EndCause;

Observed exited(int code) {
  Observed seen;
  seen.cause = EndCause::kProgram;
  seen.exit_code = code;
  seen.effective = {.wall_ms = 30000,
                    .cpu_time_ms = 20000,
                    .memory_bytes = 512u << 20,
                    .output_bytes = 64u << 10,
                    .disk_bytes = 256u << 20,
                    .inodes = 1000,
                    .file_size_bytes = 256u << 20,
                    .pids = 128,
                    .open_files = 1024,
                    .cpus = 1};
  seen.usage.wall_ms = 1200;
  seen.usage.cpu_ms = 900;
  seen.usage.memory_peak_bytes = 41u << 20;
  return seen;
}

Observed killed(int signal) {
  Observed seen = exited(0);
  seen.exit_code.reset();
  seen.signal = signal;
  return seen;
}

GuestException raised(std::string type, std::optional<int> errno_value = {}) {
  GuestException guest;
  guest.exception.type = std::move(type);
  guest.exception.message = "m";
  guest.exception.hints = {"the guest's own hint"};
  guest.errno_value = errno_value;
  guest.exit_code = 1;
  return guest;
}

// "limit memory, exit 0, met wall": an ending in one line.
std::string described(const Ending& ending) {
  std::string text = status_name(ending.status);
  if (ending.limit) text += std::string(" ") + limit_name(ending.limit->name);
  if (ending.reason) text += std::string(" ") + reason_name(ending.reason->code);
  if (ending.exit_code) text += ", exit " + std::to_string(*ending.exit_code);
  if (ending.signal) text += ", " + signal_name(*ending.signal);
  for (const MetLimit& met : ending.limits_met) text += std::string(", met ") + limit_name(met.name);
  return text;
}

Observed caused(EndCause cause, Observed seen) {
  seen.cause = cause;
  return seen;
}

Observed oom(Observed seen, std::optional<std::uint64_t> limit_hits = {}) {
  seen.oom_kills = 1;
  seen.memory_limit_hits = limit_hits;
  return seen;
}

template <typename T>
Observed having(T Observed::*member, T value, Observed seen) {
  seen.*member = value;
  return seen;
}

Observed cpu_used_up(Observed seen) {
  seen.usage.cpu_ms = *seen.effective.cpu_time_ms;
  return seen;
}

constexpr std::uint64_t kOutputEnd = (64u << 10) * kOutputEndFactor;

struct EndCase {
  const char* what;
  Observed seen;
  const char* ending;
};

const std::vector<EndCase> kEndCases = {
    {"exit 0", exited(0), "ok, exit 0"},
    {"exit 3", exited(3), "error, exit 3"},
    {"SIGSEGV", killed(SIGSEGV), "error, SIGSEGV"},
    {"SIGABRT", killed(SIGABRT), "error, SIGABRT"},
    {"SIGTERM to itself", killed(SIGTERM), "error, SIGTERM"},
    {"SIGKILL to itself", killed(SIGKILL), "error, SIGKILL"},
    {"SIGXCPU to itself", killed(SIGXCPU), "error, SIGXCPU"},
    {"SIGXCPU of the limit", cpu_used_up(killed(SIGXCPU)), "limit cpu_time"},
    {"SIGXFSZ", killed(SIGXFSZ), "error, SIGXFSZ, met file_size"},
    {"wall", caused(EndCause::kWall, killed(SIGKILL)), "limit wall"},
    {"wall, and it exited meanwhile", caused(EndCause::kWall, exited(0)), "limit wall, exit 0"},
    {"cpu", caused(EndCause::kCpuTime, killed(SIGKILL)), "limit cpu_time"},
    {"memory", caused(EndCause::kMemory, killed(SIGKILL)), "limit memory"},
    {"output", caused(EndCause::kOutput, killed(SIGKILL)), "limit output"},
    {"output at its end", having(&Observed::output_bytes, kOutputEnd, exited(0)), "ok, exit 0"},
    {"output over it", having(&Observed::output_bytes, kOutputEnd + 1, exited(0)), "limit output, exit 0"},
    {"cancelled", caused(EndCause::kCancelled, killed(SIGKILL)), "cancelled"},
    {"cancelled after an OOM kill", caused(EndCause::kCancelled, oom(killed(SIGKILL))),
     "cancelled, met memory"},
    // Case B005: a child dies for memory and the shell goes on.
    {"an OOM kill of a child", oom(exited(0)), "limit memory, exit 0"},
    {"an OOM kill of the program", oom(killed(SIGKILL)), "limit memory"},
    {"an OOM kill of a child, then a crash", oom(killed(SIGSEGV)), "limit memory, SIGSEGV"},
    {"an OOM kill, then the wall", caused(EndCause::kWall, oom(killed(SIGKILL))), "limit memory, met wall"},
    {"an OOM kill, and the limit was hit", oom(killed(SIGKILL), 2), "limit memory"},
    {"an OOM kill of the host", oom(killed(SIGKILL), 0), "unavailable sandbox_unavailable"},
    {"processes refused", having(&Observed::pids_refused, std::uint64_t{7}, exited(0)),
     "ok, exit 0, met pids"},
    {"disk full", having(&Observed::disk_full, true, exited(1)), "error, exit 1, met disk"},
    {"inodes full", having(&Observed::inodes_full, true, exited(1)), "error, exit 1, met inodes"},
    {"setup failed", caused(EndCause::kSetupFailed, exited(0)), "unavailable sandbox_unavailable"},
    {"processes, of a runtime", caused(EndCause::kPids, killed(SIGKILL)), "limit pids"},
    {"lost", caused(EndCause::kLost, killed(SIGKILL)), "unavailable sandbox_unavailable"},
    {"lost, an OOM kill", caused(EndCause::kLost, oom(killed(SIGKILL))), "unavailable sandbox_unavailable"},
    {"no status", having(&Observed::exit_code, std::optional<int>(), exited(0)),
     "unavailable sandbox_unavailable"},
    {"an artifact was not stored", having(&Observed::artifacts_not_stored, std::uint64_t{1}, exited(0)),
     "unavailable artifact_not_stored, exit 0"},
    {"an error, and an artifact was not stored",
     having(&Observed::artifacts_not_stored, std::uint64_t{1}, exited(2)), "error, exit 2"},
};

TEST(Decide, Table) {
  for (const EndCase& test : kEndCases) {
    SCOPED_TRACE(test.what);
    const Ending ending = decide(test.seen);
    EXPECT_EQ(described(ending), test.ending);
    if (!ending.limit) continue;
    EXPECT_EQ(ending.limit->ceiling, ceiling_of(test.seen.effective, ending.limit->name));
    EXPECT_EQ(ending.limit->advice, limit_advice(ending.limit->name));
  }
}

TEST(Decide, TheKernelsWordBeatsTheGuests) {
  Observed seen = exited(0);
  seen.exception = raised("RuntimeError");
  Ending ending = decide(seen);
  EXPECT_EQ(ending.status, Status::kOk);
  EXPECT_FALSE(ending.exception);
  EXPECT_EQ(ending.exit_code, 0);

  seen = exited(9);
  seen.exception = raised("RuntimeError");
  seen.exception->exit_code = 0;
  ending = decide(seen);
  EXPECT_EQ(ending.status, Status::kError);
  EXPECT_EQ(ending.exit_code, 9);
  EXPECT_EQ(ending.exception->type, "RuntimeError");
}

TEST(Decide, ALimitSaysWhatWasUsed) {
  Observed seen = killed(SIGKILL);
  seen.usage = {.wall_ms = 1, .cpu_ms = 2, .memory_peak_bytes = 3};
  seen.output_bytes = 4;
  const std::vector<std::pair<EndCause, std::uint64_t>> expected = {
      {EndCause::kWall, 1}, {EndCause::kCpuTime, 2}, {EndCause::kMemory, 3}, {EndCause::kOutput, 4}};
  for (const auto& [cause, used] : expected) {
    seen.cause = cause;
    EXPECT_EQ(decide(seen).limit->used, used);
  }
}

struct HintCase {
  const char* what;
  GuestException exception;
  std::function<void(Observed&)> change;
  const char* hint;  // nullptr: none of ours
  bool met;
};

TEST(Decide, AnExceptionThatMetALimitGetsAHint) {
  const auto nothing = [](Observed&) {};
  const auto pids = [](Observed& seen) { seen.pids_refused = 3; };
  GuestException thread = raised("RuntimeError");
  thread.exception.message = "can't start new thread";
  const std::vector<HintCase> cases = {
      {"disk", raised("OSError", ENOSPC), [](Observed& seen) { seen.disk_full = true; },
       "limit disk (256 MiB): Delete files that are no longer needed or write less, or ask for a higher disk "
       "limit.",
       true},
      {"disk that was freed again", raised("OSError", ENOSPC), nothing, "limit disk (256 MiB)", false},
      {"inodes", raised("OSError", ENOSPC), [](Observed& seen) { seen.inodes_full = true; },
       "limit inodes (1000 files)", true},
      {"file size", raised("OSError", EFBIG), nothing, "limit file_size (256 MiB)", true},
      {"open files", raised("OSError", EMFILE), nothing, "limit open_files (1024 open files)", true},
      {"fork", raised("BlockingIOError", EAGAIN), pids, "limit pids (128 processes)", true},
      {"EAGAIN of another kind", raised("BlockingIOError", EAGAIN), nothing, nullptr, false},
      {"thread", thread, pids, "limit pids (128 processes)", true},
      {"thread, not refused", thread, nothing, nullptr, false},
      {"memory", raised("MemoryError"), nothing, "limit memory (512 MiB)", false},
      {"numpy", raised("numpy.core._exceptions._ArrayMemoryError"), nothing, "limit memory (512 MiB)", false},
      {"ENOMEM", raised("OSError", ENOMEM), nothing, "limit memory (512 MiB)", false},
      {"another errno", raised("FileNotFoundError", ENOENT), nothing, nullptr, false},
      {"no errno", raised("KeyError"), nothing, nullptr, false},
  };
  for (const HintCase& test : cases) {
    SCOPED_TRACE(test.what);
    Observed seen = exited(1);
    seen.exception = test.exception;
    test.change(seen);
    const Ending ending = decide(seen);
    EXPECT_EQ(ending.status, Status::kError);
    ASSERT_TRUE(ending.exception);
    const std::vector<std::string>& hints = ending.exception->hints;
    EXPECT_EQ(hints.back(), "the guest's own hint");
    ASSERT_EQ(hints.size(), test.hint == nullptr ? 1u : 2u);
    if (test.hint != nullptr) {
      EXPECT_TRUE(hints.front().starts_with(test.hint)) << hints.front();
    }
    EXPECT_EQ(!ending.limits_met.empty(), test.met);
  }
}

TEST(Decide, CountsHowOftenALimitWasMet) {
  Observed seen = exited(1);
  seen.pids_refused = 14;
  const Ending ending = decide(seen);
  ASSERT_EQ(ending.limits_met.size(), 1u);
  EXPECT_EQ(ending.limits_met[0].ceiling, 128u);
  EXPECT_EQ(ending.limits_met[0].times, 14u);
}

TEST(Decide, AFailureOfOursIsNamed) {
  Observed seen = exited(1);
  seen.cause = EndCause::kSetupFailed;
  seen.failure = "mount /proc:\nno";
  seen.exception = raised("SystemError");
  Ending ending = decide(seen);
  EXPECT_EQ(ending.reason->code, Reason::kSandboxUnavailable);
  EXPECT_EQ(ending.reason->message, "mount /proc:\\nno");
  EXPECT_FALSE(ending.exception);
  EXPECT_FALSE(ending.exit_code);
  seen.failure_reason = Reason::kImageUnavailable;
  EXPECT_EQ(decide(seen).reason->code, Reason::kImageUnavailable);
}

// Whatever is observed: one status, and the fields that belong to it and no other.
TEST(Decide, EndingsNeverPassForOneAnother) {
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Observed seen = exited(0);
    seen.cause = static_cast<EndCause>(1 + random() % 8);
    seen.exit_code.reset();
    if (random() % 3 == 0) seen.exit_code = static_cast<int>(random() % 4);
    if (!seen.exit_code && random() % 3 != 0) seen.signal = static_cast<int>(1 + random() % 31);
    if (random() % 4 == 0) seen.oom_kills = 1 + random() % 3;
    if (random() % 4 == 0) seen.memory_limit_hits = random() % 2;
    if (random() % 4 == 0) seen.pids_refused = random() % 3;
    seen.disk_full = random() % 4 == 0;
    seen.output_bytes = random() % 8 == 0 ? random() : 0;
    if (random() % 2 == 0) seen.exception = raised("OSError", static_cast<int>(random() % 40));
    seen.artifacts_not_stored = random() % 8 == 0 ? 1 : 0;
    const Ending ending = decide(seen);
    ASSERT_NE(ending.status, Status::kRefused);
    ASSERT_EQ(ending.status == Status::kLimit, ending.limit.has_value());
    ASSERT_EQ(ending.status == Status::kUnavailable, ending.reason.has_value());
    if (ending.status == Status::kOk) {
      ASSERT_EQ(seen.exit_code, 0);
      ASSERT_EQ(seen.cause, EndCause::kProgram);
      ASSERT_FALSE(ending.exception);
    }
    if (ending.status == Status::kError) {
      ASSERT_EQ(seen.oom_kills, 0u);
      ASSERT_TRUE(ending.signal || *ending.exit_code != 0);
    }
    if (ending.limit) {
      for (const MetLimit& met : ending.limits_met) ASSERT_NE(met.name, ending.limit->name);
    }
  }
}

TEST(Refusal, TakesItsStatusFromTheReason) {
  const Ending refused = refusal(Reason::kQueueFull, "two wait already\x1b", 1500);
  EXPECT_EQ(refused.status, Status::kRefused);
  EXPECT_EQ(refused.reason->message, "two wait already\\x1b");
  EXPECT_EQ(refused.reason->retry_after_ms, 1500u);
  EXPECT_EQ(refusal(Reason::kAuditUnavailable, "").status, Status::kUnavailable);
}

TEST(ObservedFrom, TakesTheWardensWord) {
  frame::BoxEnded ended;
  ended.cause = EndCause::kProgram;
  ended.has_status = 1;
  ended.exit_code = 3;
  ended.wall_us = 1'234'567;
  ended.cpu_us = 999;
  ended.oom_kills = 1;
  ended.pids_refused = 2;
  Observed seen = observed_from(ended);
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_FALSE(seen.signal);
  EXPECT_EQ(seen.usage.wall_ms, 1234u);
  EXPECT_EQ(seen.usage.cpu_ms, 0u);
  EXPECT_EQ(seen.oom_kills, 1u);
  EXPECT_EQ(seen.pids_refused, 2u);
  EXPECT_FALSE(seen.disk_full);  // not measured
  EXPECT_FALSE(seen.inodes_full);

  ended.signal = SIGSEGV;
  EXPECT_EQ(observed_from(ended).signal, SIGSEGV);
  EXPECT_FALSE(observed_from(ended).exit_code);
  ended.has_status = 0;
  EXPECT_FALSE(observed_from(ended).signal);

  ended.disk_peak_bytes = 1 << 20;
  ended.disk_free_bytes = 4095;
  ended.inodes_free = 1;
  EXPECT_TRUE(observed_from(ended).disk_full);
  EXPECT_FALSE(observed_from(ended).inodes_full);
  ended.disk_free_bytes = 4096;
  ended.inodes_free = 0;
  EXPECT_FALSE(observed_from(ended).disk_full);
  EXPECT_TRUE(observed_from(ended).inodes_full);
}

}  // namespace
}  // namespace casemate::outcome
