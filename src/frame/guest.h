// The guest protocol: frame types and field tags between a box's runner and the engine.
//
// The runner holds one stream socket, descriptor 3. The engine sends kRun, kFile and kStart; the
// runner executes and sends what happened; its exit status, told by the kernel and not by it,
// decides how the run ended. guest/python/casemate/_wire.py holds the same numbers, and a test
// compares the two.
#pragma once

#include <cstdint>

namespace casemate::frame {

enum class GuestType : std::uint16_t {
  // Engine to runner. A sequence: any number of kProgram, then of kFile/kFileData, then kStart.
  kProgram = 1,   // kBytes: the next piece of the program's source, at most kFramePayloadMax / 2
  kFile = 2,      // kPath: opens a new file for writing beneath /vol/work; parents are made
  kFileData = 3,  // kBytes: the next piece of the file opened last
  kStart = 4,     // kName, kArgument*, kEnvironment*, kNumber (memory limit, bytes): run now
  // Before these, to a guest that says kParked: say it again.
  kAgain = 5,
  // First of all, to what starts a guest whose layer is not the box's (guest/microvm): kPath: a file that is
  // a product whether or not the program says so. The runner never sees it.
  kCollect = 6,
  // casemate-microvm to a runner that has said kMade, in a machine that was restored since: go on.
  kRestored = 7,
  // To the zygote of a sandbox that runs share, on a socket that no runner has:
  kFork =
      8,  // with three descriptors, a runner's standard output, standard error and control socket: make it
  kClean = 9,      // end what is left of it, and show that nothing is
  kForkWarm = 10,  // as kFork, of a runner that does not rehearse before it waits

  // Answers to calls. kReply: kNumber (of the call), kStatus, kTyped*, kBytes (JSON: the value, or an error),
  // kMore when kReplyData with the same number follow, each with kBytes and, but for the last, kMore.
  kReply = 12,
  kReplyData = 13,

  // Runner to engine.
  kOrder = 16,      // kStream, kNumber: from this total on, the bytes of that stream come next
  kResult = 17,     // kMediaType, kText pairs: the value of the program's last expression
  kArtifact = 18,   // kPath, kName, kText (summary), kMediaType, kOrigin
  kException = 19,  // see ExceptionTag; sent once, before the runner exits
  kDone = 20,       // kExitCode: all else is sent and flushed, the slot's process ends with this now

  // Process 1 of a guest that has a kernel of its own to engine, as the last frame.
  kEnded = 21,  // kWaitStatus: how the program's process ended; then, from a guest whose kernel keeps the
                // program's limits, what it counted: all of kOomKills to kInodesFree

  // A runner in such a guest to engine, as its first frames, if its box parks: it has rehearsed and waits.
  // kParkRounds of them, each but the last answered by kAgain: what wakes a guest is rehearsed as well.
  kParked = 22,
  // Such a runner to casemate-microvm: what machines are to have in common is made.
  kMade = 23,

  // That zygote to engine. What it cannot show it does not say: it ends, and the sandbox with it.
  kServing = 24,  // it has loaded what it was asked to
  kCleaned =
      25,  // of processes process 1 and itself are left, and nothing is mounted that a runner could write to

  // A cold runner in such a guest to engine, as its first frame: the guest is there, and the program is next.
  kBegun = 26,  // empty

  // A call of a capability: kNumber (chosen by the guest, growing), kName, kBytes (JSON of the arguments, an
  // object), kMore when kCallData follow as with kReplyData: without another call between them.
  kCall = 32,
  kCallData = 33,
};

// What kStatus of a kReply says.
enum class ReplyStatus : std::uint8_t {
  kValue = 0,
  kError = 1,   // JSON object: capability, code, message, effect, data
  kDenied = 2,  // JSON object: capability, message, rule, reason
};

inline constexpr int kParkRounds = 16;

enum class Tag : std::uint16_t {
  kBytes = 1,
  kPath = 2,         // bytes, relative to /vol/work or absolute inside the box
  kName = 3,         // UTF-8
  kArgument = 4,     // bytes
  kEnvironment = 5,  // bytes: NAME=VALUE
  kStream = 6,       // one byte: 1 stdout, 2 stderr
  kNumber = 7,       // u64
  kMediaType = 8,    // ASCII
  kText = 9,         // UTF-8
  kOrigin = 10,      // "declared" or "figure"

  // kException. One kType, kMessage; then optional single fields; then the frames, outermost
  // first, each begun by kFrameFile; then hints; then the full rendered text, causes and groups in it.
  kType = 32,
  kMessage = 33,
  kErrno = 34,         // u64: errno of an OSError
  kFile = 35,          // where it was raised, in the user's code
  kLine = 36,          // u64
  kSource = 37,        // the failing line, as submitted
  kHiddenFrames = 38,  // u64: frames outside the user's code that were left out
  kFrameFile = 39,
  kFrameLine = 40,  // u64
  kFrameFunction = 41,
  kFrameSource = 42,
  kHint = 43,      // one line that would have helped, e.g. "row keys present: ['a', 'b']"
  kRendered = 44,  // the traceback as Python prints it, the user's frames only
  kExitCode = 45,  // u64: the exit code that the runner is about to exit with

  kWaitStatus = 46,  // u64: as waitpid(2) says it
  kOomKills = 47,    // u64 each
  kMemoryPeak = 48,  // bytes
  kPidsRefused = 49,
  kPidsPeak = 50,
  kDiskUsed = 51,  // bytes of the layer
  kDiskFree = 52,
  kInodesFree = 53,

  kMore = 64,    // empty
  kStatus = 65,  // one byte
  kTyped = 66,   // "decimal /rows/*/amount": what a value is beyond what JSON says, and where
};

}  // namespace casemate::frame
