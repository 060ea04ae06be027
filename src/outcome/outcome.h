// What a run came to: one structure, one JSON form, the same from every interface (DESIGN section 12).
//
// An Outcome says what the guest did. An Error says that we failed to do something; a verdict says
// what policy decided. None of them ever passes for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "json/writer.h"
#include "outcome/box_record.h"
#include "outcome/capture.h"
#include "outcome/limit.h"

namespace casemate::outcome {

enum class Status {
  kOk,
  kError,        // the program's own: any exit code or signal of its making
  kLimit,        // a limit ended it
  kCancelled,    // somebody asked for it to stop
  kRefused,      // it did not run, and asking again unchanged gives the same or must wait
  kUnavailable,  // our fault or the host's, never the program's
};
const char* status_name(Status status);

// Why something was refused or is unavailable. A closed list.
enum class Reason {
  kQueueFull,
  kTenantCap,
  kDeadlineUnreachable,
  kExpiredInQueue,
  kPoolExhausted,
  kIsolationUnavailable,
  kImageUnavailable,
  kSandboxUnavailable,
  kArtifactNotStored,
  kAuditUnavailable,
  kPolicyDenied,
};
inline constexpr std::size_t kReasonCount = 11;
const char* reason_name(Reason reason);
// kRefused for a decision that was taken about the request, kUnavailable for a part that is not there.
Status status_of(Reason reason);
// What the caller can do about it: one sentence, without the advice not to change the program.
const char* remedy_of(Reason reason);

// An uncaught exception, as the guest tells it. All text is valid UTF-8; all but `message` and
// `rendered` are one line.
struct Exception {
  std::string type;
  std::string message;
  std::optional<std::string> file;
  std::optional<std::uint64_t> line;
  std::optional<std::string> source;
  std::vector<ExceptionFrame> frames;  // the user's own, outermost first
  std::uint64_t hidden_frames = 0;     // frames outside the user's code
  std::uint64_t frames_left_out = 0;   // the user's own, from the middle
  std::vector<std::string> hints;
  std::uint64_t hints_left_out = 0;
  std::optional<std::string> rendered;  // the whole text, causes and groups in it
};

struct ReasonGiven {
  Reason code = Reason::kSandboxUnavailable;
  std::string message;
  std::optional<std::uint64_t> retry_after_ms;
};

// How a run ended: what decide() and refusal() make.
struct Ending {
  Status status = Status::kUnavailable;
  std::optional<int> exit_code;  // the program's own
  std::optional<int> signal;     // of the program's own making
  std::optional<EndingLimit> limit;
  std::vector<MetLimit> limits_met;
  std::optional<Exception> exception;
  std::optional<ReasonGiven> reason;
};

// A stream with the place where all of its bytes are, when `text` does not have them.
struct StreamOutcome : StreamText {
  std::optional<std::string> artifact;  // an artifact id
};

// One form of the value of the program's last expression.
struct ResultForm {
  std::string media_type;
  std::string text;
  bool operator==(const ResultForm&) const = default;
};

enum class ArtifactState { kStored, kPending, kFailed };
const char* artifact_state_name(ArtifactState state);

struct Artifact {
  std::string id;
  std::string uri;
  std::string name;
  std::string media_type;
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string summary;      // the program's claim; may be empty
  std::string description;  // what we found out in the box: "4000 rows", "1280x720 pixels"; may be empty
  ArtifactState state = ArtifactState::kPending;
  std::string volume_id;
  std::optional<std::string> expires_at;  // RFC 3339
};

// Of a call that a person was asked about.
struct AskedCall {
  std::string answer{};  // "allow", "deny", "expired", "over"; empty: none yet
  std::string by{};      // "terminal", "approvals", "nobody"
  std::uint64_t waited_ms = 0;
  bool edited = false;  // allowed with other arguments
};

struct Call {
  std::string id;
  std::string capability;
  std::string verdict;
  std::string rule;
  std::string status;
  std::uint64_t latency_ms = 0;
  std::optional<AskedCall> asked{};
};

// A way out of the run by which policy let no more than what had left before.
struct Withheld {
  std::string sink;     // "stdout": both streams and what is told of an exception; "result", "artifact"
  std::string verdict;  // "deny", "ask"
  std::string rule;
  std::string reason;
  std::uint64_t bytes = 0;  // of what was withheld; of products: how many
};

struct Volume {
  std::string id;  // empty when no layer was made
  bool inherited = false;
  std::optional<std::string> version;
};

struct Usage {
  std::uint64_t wall_ms = 0;
  std::uint64_t cpu_ms = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t disk_peak_bytes = 0;
  std::uint64_t pids_peak = 0;
  std::uint64_t occupied_ms = 0;
  std::uint64_t minor_faults = 0;
};

enum class Start { kHot, kWarm, kCold };

// How long a run stood still for a person, who is not its clocks' business.
struct Waited {
  std::uint64_t ms = 0;
  bool frozen = true;  // false: its box could not be, and went on
};

struct Timing {
  std::uint64_t queue_wait_ms = 0;
  std::uint64_t checkout_ms = 0;
  std::uint64_t execution_ms = 0;
  std::uint64_t artifact_ms = 0;
  std::uint64_t teardown_ms = 0;
  std::optional<Start> start;  // absent when no box was started
  std::string cold_reason;     // why a run that could have had a slot got a new box; else empty
};

enum class TeardownVerdict { kDestroyed, kQuarantined, kPending };

// Lists in the JSON, and what they may hold. What is cut is counted in "<list>_left_out".
inline constexpr std::size_t kCallsShownMax = 1024;
inline constexpr std::size_t kLabelsMax = 64;
inline constexpr std::size_t kResultFormsMax = 16;
inline constexpr std::size_t kWithheldMax = 3;

// A departure from a promise that was asked for by its name and took effect, beside a wall below the floor.
struct Weakening {
  std::string name;  // "no-cgroup"
  std::string loss;  // what is lost, as the end of a sentence
};

// Strings that do not apply (no box was made) are empty; absent optionals are not written at all.
struct Outcome {
  std::string run_id;
  std::string sandbox_id;
  std::string tenant;
  std::optional<std::string> task_id;
  std::optional<std::string> session_id;
  Volume volume;
  std::string image_digest;
  std::string isolation;
  bool below_floor = false;
  std::string
      accelerator;  // of a machine of its own: "kvm"; "tcg": emulated, which is no boundary. Else empty
  std::vector<Weakening> weakenings;  // a handful; the JSON has their names
  std::string program_sha256;
  std::optional<std::string> policy_digest;
  LimitValues requested;
  LimitValues effective;

  Ending ending;

  StreamOutcome stdout_text;
  StreamOutcome stderr_text;
  CombinedOutput output;
  std::optional<std::vector<ResultForm>> result;  // each media type once

  std::vector<Artifact> artifacts;
  std::uint64_t artifacts_left_out = 0;
  std::vector<Call> calls;
  std::uint64_t calls_left_out = 0;
  std::vector<std::string> labels;
  std::vector<Withheld> withheld;  // one for each such sink
  Usage usage;
  Timing timing;
  std::optional<Waited> waited;  // absent: it did not
  TeardownVerdict teardown = TeardownVerdict::kPending;
  // Why the log has no end of this run, where it should have one; of no form of the outcome.
  std::string not_recorded;
  std::optional<BoxRecord> record;  // of its box, once its end is known; none when no box was asked for
  std::string report;               // make_report() of all the above
};

// One JSON document, without a newline at its end. A ceiling and a used amount are integers in the
// limit's unit: milliseconds, bytes or a count. A signal is written by its name ("SIGSEGV").
std::string write_json(const Outcome& outcome, json::Writer::Style style = json::Writer::Style::kCompact);

// "SIGSEGV"; "SIG34" for one that has no name.
std::string signal_name(int signal);

// Exit codes of the command line.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;  // no run was asked for properly, so no Outcome says it
inline constexpr int kExitRefused = 3;
inline constexpr int kExitUnavailable = 4;
inline constexpr int kExitLimit = 5;
inline constexpr int kExitCancelled = 6;
int exit_code(const Outcome& outcome);

}  // namespace casemate::outcome
