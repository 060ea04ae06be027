#include "outcome/runtime_end.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "outcome/decide.h"

namespace casemate::outcome {
namespace {

using frame::BoxEnded;
using frame::EndCause;

BoxEnded exited(std::uint32_t code) {
  BoxEnded ended;
  ended.cause = EndCause::kProgram;
  ended.has_status = 1;
  ended.exit_code = code;
  ended.pids_peak = 40;
  return ended;
}
BoxEnded killed(std::uint32_t signal) {
  BoxEnded ended = exited(0);
  ended.signal = signal;
  return ended;
}
BoxEnded refused_pids(BoxEnded ended) {
  ended.pids_refused = 3;
  return ended;
}
BoxEnded caused(EndCause cause, BoxEnded ended) {
  ended.cause = cause;
  return ended;
}

std::string shown(const BoxEnded& ended) {
  if (ended.cause == EndCause::kPids) return "pids";
  if (ended.cause == EndCause::kLost) return "lost";
  if (ended.has_status == 0) return "limit";
  return ended.signal != 0 ? "signal " + std::to_string(ended.signal)
                           : "exit " + std::to_string(ended.exit_code);
}

const std::optional<GuestEnd> kSilent;
std::optional<GuestEnd> code(int value) { return GuestEnd{value, std::nullopt, std::nullopt}; }
std::optional<GuestEnd> signal(int value) { return GuestEnd{std::nullopt, value, std::nullopt}; }

struct Row {
  const char* what;
  BoxEnded ended;
  std::optional<GuestEnd> said;
  bool unheard;
  const char* comes_to;
};

TEST(EndOfGuest, KeepsItsRules) {
  const std::vector<Row> rows = {
      {"an end that was told", exited(0), code(0), false, "exit 0"},
      {"each exit code is the program's when it was told", exited(2), code(2), false, "exit 2"},
      {"likewise", exited(125), code(125), false, "exit 125"},
      {"likewise", exited(128), code(128), false, "exit 128"},
      {"likewise", exited(137), code(137), false, "exit 137"},
      {"likewise", exited(255), code(255), false, "exit 255"},
      {"a signal", exited(137), signal(9), false, "signal 9"},
      {"a signal after processes were refused", refused_pids(exited(139)), signal(11), false, "signal 11"},
      // Nothing was said.
      {"shut its channel and went on", exited(0), kSilent, false, "exit 0"},
      {"likewise", exited(3), kSilent, true, "exit 3"},
      {"a kernel that panicked", exited(2), kSilent, false, "lost"},
      {"a launcher that failed", exited(125), kSilent, false, "lost"},
      {"a runtime that failed", exited(128), kSilent, false, "lost"},
      {"a kernel that was killed", exited(137), kSilent, false, "lost"},
      {"runsc itself was killed", killed(9), kSilent, false, "lost"},
      {"no end at all", caused(EndCause::kProgram, BoxEnded{}), kSilent, false, "lost"},
      {"a code that no signal has", exited(255), kSilent, true, "lost"},
      {"met the limit of processes", refused_pids(exited(2)), kSilent, false, "pids"},
      {"likewise, and broke the protocol first", refused_pids(exited(2)), kSilent, true, "pids"},
      {"likewise, and told of another end", refused_pids(exited(2)), code(0), false, "pids"},
      // Something else was said in the name of process 1.
      {"a forged end", exited(3), code(0), false, "exit 3"},
      {"a forged end before a signal", exited(137), code(0), false, "exit 137"},
      {"a forged end before a crash", exited(2), code(0), false, "lost"},
      {"a broken channel before a signal", exited(137), kSilent, true, "exit 137"},
      {"a broken channel, and the runtime failed", exited(128), kSilent, true, "lost"},
      {"said it was killed, and runsc was", killed(9), signal(9), false, "lost"},
      // What ended it was not itself.
      {"a limit", caused(EndCause::kWall, killed(9)), kSilent, false, "limit"},
      {"a limit, with an end that was told", caused(EndCause::kMemory, exited(0)), code(0), false, "limit"},
      {"lost", caused(EndCause::kLost, BoxEnded{}), code(0), false, "lost"},
  };
  for (const Row& row : rows) {
    const BoxEnded end = end_of_guest(row.ended, {row.said, true, row.unheard}, 16);
    EXPECT_EQ(shown(end), row.comes_to) << row.what << ": " << shown(row.ended);
    EXPECT_EQ(end.pids_peak, end.cause == EndCause::kPids ? 16u : 0u) << row.what;
  }
}

TEST(EndOfGuest, OneThatNeverBeganMetNoLimitOfTheProgram) {
  const BoxEnded over = caused(EndCause::kWall, killed(9));
  const BoxEnded end = end_of_guest(over, {kSilent, /*begun=*/false}, 16);
  EXPECT_EQ(shown(end), "lost");
  EXPECT_NE(frame::get_text(end.text).find("had not begun"), std::string::npos);
  EXPECT_EQ(shown(end_of_guest(over, {kSilent, /*begun=*/true}, 16)), "limit");
  EXPECT_EQ(shown(end_of_guest(over, {kSilent, /*begun=*/false, /*unheard=*/true}, 16)), "limit");
  const BoxEnded full = caused(EndCause::kMemory, killed(9));
  EXPECT_EQ(shown(end_of_guest(full, {kSilent, /*begun=*/false}, 16)), "limit")
      << "of the box, whoever it is";
}

// ---- What the guest's own kernel counted

constexpr GuestCounts kCounts = {2, 1000, 3, 7, 4096, 8192, 11};

GuestEnd counted(std::optional<int> exit_code, std::optional<int> signal_number = std::nullopt) {
  return {exit_code, signal_number, kCounts};
}
// Of the box, which is the runtime's.
BoxEnded box_of(BoxEnded ended) {
  ended.memory_peak_bytes = 999'999;
  ended.disk_peak_bytes = 5;
  ended.disk_free_bytes = 6;
  ended.inodes_free = 7;
  return ended;
}
bool has_counts(const BoxEnded& ended) {
  return ended.oom_kills == 2 && ended.memory_peak_bytes == 1000 && ended.pids_refused == 3 &&
         ended.pids_peak == 7 && ended.disk_peak_bytes == 4096 && ended.disk_free_bytes == 8192 &&
         ended.inodes_free == 11;
}

TEST(EndOfGuest, ItsCountsAreTheProgramsWhenItsEndIs) {
  EXPECT_TRUE(has_counts(end_of_guest(box_of(exited(3)), {counted(3), true}, 16)));
  EXPECT_TRUE(has_counts(end_of_guest(box_of(exited(137)), {counted(std::nullopt, 9), true}, 16)));
  EXPECT_TRUE(has_counts(end_of_guest(box_of(refused_pids(exited(0))), {counted(0), true}, 16)))
      << "of the box's processes nothing was refused to the program";
}

TEST(EndOfGuest, ItsCountsAreNobodysWhenItsEndIsNotBelieved) {
  const std::vector<Row> rows = {
      {"another exit code", exited(3), counted(0), false, "exit 3"},
      {"a signal that was none", exited(3), counted(std::nullopt, 9), false, "exit 3"},
      {"an exit code for a signal", exited(137), counted(9), false, "exit 137"},
      {"a launcher that failed", exited(125), counted(0), false, "lost"},
      {"a launcher that was killed", killed(9), counted(std::nullopt, 9), false, "lost"},
      {"a limit", caused(EndCause::kWall, killed(9)), counted(std::nullopt, 9), false, "limit"},
      {"the memory of the box", caused(EndCause::kMemory, exited(0)), counted(0), false, "limit"},
      {"the engine", caused(EndCause::kCancelled, exited(0)), counted(0), false, "limit"},
      {"nobody knows", caused(EndCause::kLost, BoxEnded{}), counted(0), false, "lost"},
  };
  for (const Row& row : rows) {
    const BoxEnded end = end_of_guest(box_of(row.ended), {row.said, true, row.unheard}, 16);
    EXPECT_EQ(shown(end), row.comes_to) << row.what;
    EXPECT_EQ(end.oom_kills, 0U) << row.what;
    EXPECT_EQ(end.memory_peak_bytes, 999'999U) << row.what;
    EXPECT_EQ(end.disk_peak_bytes, 5U) << row.what;
    EXPECT_EQ(end.disk_free_bytes, 6U) << row.what;
    EXPECT_EQ(end.inodes_free, 7U) << row.what;
  }
}

TEST(EndOfGuest, WhatItsKernelEndedForMemoryIsTheMemoryLimit) {
  const BoxEnded ended = end_of_guest(box_of(exited(137)), {counted(std::nullopt, 9), true}, 16);
  const Ending ending = decide(observed_from(ended));
  EXPECT_EQ(ending.status, Status::kLimit);
  ASSERT_TRUE(ending.limit);
  EXPECT_EQ(ending.limit->name, LimitName::kMemory);
  EXPECT_EQ(ending.limit->used, 1000U);
  EXPECT_FALSE(ending.signal) << "the kernel's, for that limit";
}

TEST(EndOfGuest, WhatItsKernelRefusedIsTold) {
  GuestEnd said = counted(0);
  said.counts->oom_kills = 0;
  said.counts->disk_free_bytes = 0;
  said.counts->inodes_free = 0;
  const Observed seen = observed_from(end_of_guest(box_of(exited(0)), {said, true}, 16));
  EXPECT_TRUE(seen.disk_full);
  EXPECT_TRUE(seen.inodes_full);
  EXPECT_EQ(seen.usage.pids_peak, 7U);
  const Ending ending = decide(seen);
  EXPECT_EQ(ending.status, Status::kOk);
  EXPECT_EQ(ending.limits_met.size(), 3U) << "pids, disk, inodes";
}

}  // namespace
}  // namespace casemate::outcome
