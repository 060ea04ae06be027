#include "outcome/runtime_end.h"

namespace casemate::outcome {
namespace {

// Exit codes that are not a guest's: a Go program's that panicked, that of what starts runsc when that failed
// (guest/gvisor/launcher.cc), and of runsc when it could not make or keep its guest.
constexpr int kPanicked = 2;
constexpr int kLauncherFailed = 125;
constexpr int kRuntimeFailed = 128;
constexpr int kSignalled = 128;  // and the signal's number
constexpr int kSignalMax = 64;

constexpr const char* kNotBegun =
    "its guest had not begun when the wall limit was over, which has the guest's start in it";

// The guest's kernel keeps the program's limits, and the box's are its runtime's.
void take_counts(frame::BoxEnded& ended, const GuestCounts& counts) {
  ended.oom_kills = counts.oom_kills;
  ended.memory_peak_bytes = counts.memory_peak_bytes;
  ended.pids_refused = counts.pids_refused;
  ended.pids_peak = counts.pids_peak;
  ended.disk_peak_bytes = counts.disk_used_bytes;
  ended.disk_free_bytes = counts.disk_free_bytes;
  ended.inodes_free = counts.inodes_free;
}

}  // namespace

frame::BoxEnded end_of_guest(frame::BoxEnded ended, const GuestWord& word, std::uint64_t pids) {
  const auto& said = word.end;
  // Each of a guest's processes has some of the host's, which are what was counted.
  ended.pids_peak = 0;
  if (ended.cause == frame::EndCause::kWall && !word.begun && !word.unheard) {
    ended.cause = frame::EndCause::kLost;
    frame::put_text(ended.text, kNotBegun);
  }
  if (ended.cause != frame::EndCause::kProgram) {
    ended.has_status = 0;
    return ended;
  }
  const bool exited = ended.has_status != 0 && ended.signal == 0;
  const int code = static_cast<int>(ended.exit_code);
  if (exited && said && code == (said->signal ? kSignalled + *said->signal : *said->exit_code)) {
    ended.exit_code = static_cast<std::uint32_t>(said->exit_code.value_or(0));
    ended.signal = static_cast<std::uint32_t>(said->signal.value_or(0));
    if (said->counts) take_counts(ended, *said->counts);
    return ended;
  }
  if (ended.pids_refused > 0) {
    ended.cause = frame::EndCause::kPids;
    ended.pids_peak = pids;
    ended.has_status = 0;
    return ended;
  }
  const bool plain = exited && code < kRuntimeFailed && code != kPanicked && code != kLauncherFailed;
  const bool signal =
      exited && code > kSignalled && code <= kSignalled + kSignalMax && (word.unheard || said);
  if (plain || signal) return ended;
  ended.has_status = 0;
  ended.cause = frame::EndCause::kLost;
  return ended;
}

}  // namespace casemate::outcome
