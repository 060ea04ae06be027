// How the end of a runtime's process is the end of the program that ran in its guest. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "frame/warden.h"
#include "outcome/guest_report.h"

namespace casemate::outcome {

// Of a box of a stronger rung the warden sees its runtime end, whose exit code is that of the guest's process
// 1: the program's, or 128 and its signal. Process 1 has also said which of the two, on a channel that the
// program can write to and shut as well. The rules, first match first:
//   ended for its time, before its guest had begun  EndCause::kLost, and that as its text: no program met
//                                                     that limit
//   ended for a limit, or by the engine             that, and no end of the program's
//   process 1 said what the exit code says          the program's exit code or signal, with what its kernel
//                                                     counted, if that keeps the limits
//   the host refused it a process                   EndCause::kPids: its kernel cannot go on without
//   an exit code that no runtime has of itself      the program's, whatever was said of it or not
//   128 and a signal, where the program saw to it   the program's exit code: it cannot be told from a
//     that process 1 was not heard                    runtime that was killed
//   all else                                        EndCause::kLost: a runtime that was killed, or that
//                                                     could not make or keep its guest
struct GuestWord {
  std::optional<GuestEnd> end;  // what process 1 said
  bool begun = false;           // the runner was there
  bool unheard = false;         // the program broke the protocol
};
// `pids`: the limit, for the usage of kPids.
frame::BoxEnded end_of_guest(frame::BoxEnded ended, const GuestWord& word, std::uint64_t pids);

}  // namespace casemate::outcome
