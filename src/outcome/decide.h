// How a run ended, decided from what was seen. Pure.
//
// The kernel's word beats the guest's: its exit status decides, and what the runner reported only
// explains. A limit that ended the run beats whatever exit status came of it. What went wrong on our
// side is `unavailable` and never looks like the program's fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frame/warden.h"
#include "outcome/guest_report.h"
#include "outcome/outcome.h"

namespace casemate::outcome {

struct Observed {
  frame::EndCause cause = frame::EndCause::kLost;
  // The program's own end as the kernel told it; at most one of the two is set.
  std::optional<int> exit_code;
  std::optional<int> signal;
  // For kSetupFailed and kLost: what happened, one line, and another reason than sandbox_unavailable.
  std::string failure;
  std::optional<Reason> failure_reason;

  std::uint64_t oom_kills = 0;  // memory.events oom_kill, of the whole box
  // memory.events oom of the same group, where it is known. An OOM kill without one was the host's own
  // lack of memory, and not the box's limit.
  std::optional<std::uint64_t> memory_limit_hits;
  std::uint64_t pids_refused = 0;  // pids.events max
  bool disk_full = false;          // no block was free at the end
  bool inodes_full = false;
  std::uint64_t output_bytes = 0;  // OutputCapture::largest()
  Usage usage;
  LimitValues effective;

  std::optional<GuestException> exception;  // what the runner reported
  // Declared artifacts that we failed to store. One that the program declared and that is not there,
  // or that may not be collected, is the program's affair and does not count.
  std::uint64_t artifacts_not_stored = 0;
};

// Fills what the warden's message tells; limits, output, exception and artifacts are the caller's.
Observed observed_from(const frame::BoxEnded& ended);

// The rules, first match first:
//   setup failed, warden or nest lost, no exit status at all  unavailable
//   an OOM kill without the limit being hit                   unavailable (the host had no memory)
//   cancelled                                                 cancelled
//   any OOM kill in the box, or ended for memory              limit memory
//   ended for wall, CPU time or output                        that limit
//   SIGXCPU with the CPU time used up                         limit cpu_time
//   output beyond its end seen only after the program's end   limit output
//   exit 0                                                    ok, or unavailable (artifact_not_stored)
//   any other exit code or signal                             error
// A second limit that was reached beside the one that is named goes to limits_met. exit_code stays
// beside a limit when the program came to its end by itself; a signal that was ours does not. The
// exception is dropped when the kernel says exit 0. An exception that met a limit gets a hint with the
// limit's name, ceiling and remedy.
Ending decide(const Observed& observed);

// The end of a request that never ran; its status follows from the reason.
Ending refusal(Reason reason, std::string_view message, std::optional<std::uint64_t> retry_after_ms = {});

}  // namespace casemate::outcome
