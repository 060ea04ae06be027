// The kinds of records.
//
// A kind is a struct with kKind, its name in the log, and a write_fields() beside it. A new one needs nothing
// else: the chain, verify, export and the index take every kind. They find the run, the capability and the
// verdict of any record under the names "run", "capability" and "verdict"; so a new kind uses the same.
//
// Ids and names are at most kAuditIdMax bytes of UTF-8, lists at most kAuditListMax of them; digests are
// SHA-256 in hex. What a record may not contain is payload: arguments and results are digests.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/fields.h"
#include "base/clock.h"

namespace casemate::audit {

template <typename T>
concept Kind = requires(Fields& fields, const T& record) {
  { T::kKind } -> std::convertible_to<std::string_view>;
  { write_fields(fields, record) } -> std::same_as<void>;
};

enum class Answer { kAllow, kDeny, kAsk };
// "allow", "deny", "ask".
const char* answer_name(Answer answer);

// Policy's answer to one call.
struct Verdict {
  static constexpr std::string_view kKind = "verdict";
  std::string run;
  std::string call;
  std::string capability;
  Answer answer = Answer::kDeny;
  std::string rule;           // which rule decided; empty: none did, it is the default
  std::string reason;         // for people
  std::string policy_sha256;  // empty: there is no policy
  std::string arguments_sha256;
  std::string destination_class;     // "internal", "external", …; empty: the call has no destination
  std::string destination;           // as it is: the log writes only its keyed hash
  std::vector<std::string> labels;   // of the run when it was judged
  std::vector<std::string> effects;  // classes of effects that the capability has
  std::string idempotency_key;       // empty: none
};
void write_fields(Fields& fields, const Verdict& verdict);

// How a call ended.
struct CallResult {
  static constexpr std::string_view kKind = "result";
  std::string run;
  std::string call;
  std::string capability;
  std::string status;         // "ok", "error", "unavailable", …
  std::string result_sha256;  // empty: it had none
  std::uint64_t result_bytes = 0;
  microseconds latency{};
  std::vector<std::string> labels_joined;  // those that the run has from this call
};
void write_fields(Fields& fields, const CallResult& result);

// Something that policy kept from leaving its run: output, a result or a product. One record for each sink of
// a run, when the first of it is withheld; what may leave has none.
struct WithheldSink {
  static constexpr std::string_view kKind = "withheld";
  std::string run;
  std::string sink;  // "stdout", "result", "artifact"; no capability has such a name, and it is found as one
  std::string verdict;
  std::string rule;
  std::string reason;
  std::string policy_sha256;
  std::vector<std::string> labels;  // of the run when it was judged
};
void write_fields(Fields& fields, const WithheldSink& withheld);

// A step in the life of a run. Three of them tell all of it.
struct RunEvent {
  enum class Step { kAllocated, kExecuted, kTornDown };
  static constexpr std::string_view kKind = "run";
  std::string run;
  Step step = Step::kAllocated;
  std::string tenant;
  std::string sandbox;
  std::string slot_class;
  std::string image;      // "sha256:…"
  std::string isolation;  // the rung
  std::string volume;
  // executed: of the outcome, "ok"; torn_down: the verdict, "destroyed". Empty: not known yet.
  std::string status;
  std::vector<std::string> weakenings;
  // What is known at this step.
  std::optional<milliseconds> queue_wait, checkout, execution, artifact, teardown;
  std::optional<std::uint64_t> artifacts;  // executed: how many its outcome tells of
};
void write_fields(Fields& fields, const RunEvent& event);

// A human answer to `ask`. Log::record() takes run, call and capability from the question.
struct Approval {
  Answer answer = Answer::kDeny;   // allow or deny
  std::string by;                  // who answered
  std::string reason;              // for people
  std::string arguments_sha256{};  // allowed with other arguments than the verdict's; empty: with those
  std::string destination{};       // where they lead: the log writes only its keyed hash
};

// The log's own kinds. Only the log writes them.

// An approval with what it answers.
struct AnsweredApproval {
  static constexpr std::string_view kKind = "approval";
  std::string_view run, call, capability;
  std::uint64_t asked = 0;  // the number of the verdict `ask`
  const Approval& approval;
};
void write_fields(Fields& fields, const AnsweredApproval& answered);

// What happened to the log itself.
struct LogEvent {
  enum class Step { kOpened, kTornTailCut, kClosed };
  static constexpr std::string_view kKind = "log";
  Step step = Step::kOpened;
  std::string after;          // opened: "new", "closed", "crash"
  std::string key_sha256;     // opened: which key hashes destinations
  std::uint32_t segment = 0;  // cut: where
  std::uint64_t bytes = 0;    // cut: how many
};
void write_fields(Fields& fields, const LogEvent& event);

// The first record of each segment.
struct SegmentHeader {
  static constexpr std::string_view kKind = "segment";
  std::string_view writer;
  std::string_view instance;
  std::uint32_t segment = 0;
};
void write_fields(Fields& fields, const SegmentHeader& header);
inline constexpr std::uint64_t kFormat = 1;

// In the manifest: there is a log of this name and instance.
struct ListedWriter {
  static constexpr std::string_view kKind = "writer";
  std::string writer;
  std::string instance;
  bool operator==(const ListedWriter&) const = default;
};
void write_fields(Fields& fields, const ListedWriter& writer);

// The members of a record. Errors: invalid, naming the member.
template <Kind T>
Result<std::string> body_of(const T& record, const crypto::HmacKey* key) {
  Fields fields(key);
  write_fields(fields, record);
  return std::move(fields).take();
}

}  // namespace casemate::audit
