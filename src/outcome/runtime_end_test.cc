#include "outcome/runtime_end.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
    const BoxEnded end = end_of_guest(row.ended, row.said, row.unheard, 16);
    EXPECT_EQ(shown(end), row.comes_to) << row.what << ": " << shown(row.ended);
    EXPECT_EQ(end.pids_peak, end.cause == EndCause::kPids ? 16u : 0u) << row.what;
  }
}

}  // namespace
}  // namespace casemate::outcome
