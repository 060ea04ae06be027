#include "outcome/outcome.h"

#include <array>
#include <csignal>
#include <cstring>

namespace casemate::outcome {
namespace {

struct ReasonRow {
  const char* name;
  Status status;
  const char* remedy;
};

// In the order of the enumeration.
constexpr std::array<ReasonRow, kReasonCount> kReasons = {{
    {"queue_full", Status::kRefused, "Send the same request again after the given time."},
    {"tenant_cap", Status::kRefused,
     "Wait until a run of yours has ended, then send the same request again."},
    {"deadline_unreachable", Status::kRefused,
     "Send the same request again later or with a later deadline; it could not have ended in time."},
    {"expired_in_queue", Status::kRefused,
     "Its deadline passed while it waited; send the same request again."},
    {"pool_exhausted", Status::kUnavailable, "Send the same request again after the given time."},
    {"isolation_unavailable", Status::kRefused,
     "This host cannot give the isolation that the request needs; the operator can run `casemate doctor` "
     "to see what to install, or accept a weaker wall by name with --allow-below-floor."},
    {"image_unavailable", Status::kUnavailable,
     "The image could not be used; the operator can check it with `casemate image`."},
    {"sandbox_unavailable", Status::kUnavailable,
     "Send the same request again; if it goes on, the operator can run `casemate doctor`."},
    {"artifact_not_stored", Status::kUnavailable,
     "The program has ended and is not run again; the upload resumes by itself, so ask for this run later."},
    {"audit_unavailable", Status::kUnavailable,
     "Nothing may happen unrecorded; the operator must repair the audit log, then send the same request "
     "again."},
    {"policy_denied", Status::kRefused, "Policy forbids this request; ask a human for permission."},
}};

constexpr std::array<const char*, 6> kStatuses = {"ok",        "error",   "limit",
                                                  "cancelled", "refused", "unavailable"};

template <typename E>
constexpr std::size_t index_of(E value) {
  return static_cast<std::size_t>(value);
}

template <typename T>
void optional_field(json::Writer& out, std::string_view name, const std::optional<T>& value) {
  if (value) out.field(name, *value);
}

void write_limits(json::Writer& out, std::string_view name, const LimitValues& limits) {
  out.key(name).begin_object();
  optional_field(out, "wall_ms", limits.wall_ms);
  optional_field(out, "cpu_time_ms", limits.cpu_time_ms);
  optional_field(out, "memory_bytes", limits.memory_bytes);
  optional_field(out, "output_bytes", limits.output_bytes);
  optional_field(out, "disk_bytes", limits.disk_bytes);
  optional_field(out, "inodes", limits.inodes);
  optional_field(out, "file_size_bytes", limits.file_size_bytes);
  optional_field(out, "pids", limits.pids);
  optional_field(out, "open_files", limits.open_files);
  optional_field(out, "cpus", limits.cpus);
  out.end_object();
}

// Writes at most `most` elements, then "<name>_left_out" when some are missing, now or before.
template <typename List, typename Write>
void write_list(json::Writer& out, const std::string& name, const List& list, std::size_t most,
                std::uint64_t left_out, Write write) {
  out.key(name).begin_array();
  for (std::size_t i = 0; i < list.size() && i < most; ++i) write(list[i]);
  out.end_array();
  if (list.size() > most) left_out += list.size() - most;
  if (left_out > 0) out.field(name + "_left_out", left_out);
}

void write_identity(json::Writer& out, const Outcome& outcome) {
  out.field("run_id", outcome.run_id).field("sandbox_id", outcome.sandbox_id).field("tenant", outcome.tenant);
  optional_field(out, "task_id", outcome.task_id);
  optional_field(out, "session_id", outcome.session_id);
  out.key("volume").begin_object().field("id", outcome.volume.id);
  out.field("state", outcome.volume.inherited ? "inherited" : "fresh");
  optional_field(out, "version", outcome.volume.version);
  out.end_object();
  out.field("image_digest", outcome.image_digest).field("isolation", outcome.isolation);
  if (!outcome.accelerator.empty()) out.field("accelerator", outcome.accelerator);
  if (outcome.below_floor) out.field("below_floor", true);
  if (!outcome.weakenings.empty()) {
    out.key("weakenings").begin_array();
    for (const Weakening& weakening : outcome.weakenings) out.value(weakening.name);
    out.end_array();
  }
  out.field("program_sha256", outcome.program_sha256);
  optional_field(out, "policy_digest", outcome.policy_digest);
  out.key("limits").begin_object();
  write_limits(out, "requested", outcome.requested);
  write_limits(out, "effective", outcome.effective);
  out.end_object();
}

void write_exception(json::Writer& out, const Exception& exception) {
  out.key("exception").begin_object();
  out.field("type", exception.type).field("message", exception.message);
  optional_field(out, "file", exception.file);
  optional_field(out, "line", exception.line);
  optional_field(out, "source", exception.source);
  write_list(out, "frames", exception.frames, kReportFramesMax, exception.frames_left_out,
             [&](const ExceptionFrame& frame) {
               out.begin_object().field("file", frame.file);
               optional_field(out, "line", frame.line);
               out.field("function", frame.function).field("source", frame.source).end_object();
             });
  out.field("hidden_frames", exception.hidden_frames);
  // The guest's hints and one of ours for each limit.
  write_list(out, "hints", exception.hints, kReportHintsMax + kLimitCount, exception.hints_left_out,
             [&](const std::string& hint) { out.value(hint); });
  optional_field(out, "rendered", exception.rendered);
  out.end_object();
}

void write_end(json::Writer& out, const Ending& ending) {
  out.field("status", status_name(ending.status));
  optional_field(out, "exit_code", ending.exit_code);
  if (ending.signal) out.field("signal", signal_name(*ending.signal));
  if (ending.limit) {
    const EndingLimit& limit = *ending.limit;
    out.key("limit").begin_object().field("name", limit_name(limit.name)).field("ceiling", limit.ceiling);
    out.field("used", limit.used).field("advice", limit.advice).end_object();
  }
  write_list(out, "limits_met", ending.limits_met, kLimitCount, 0, [&](const MetLimit& met) {
    out.begin_object().field("name", limit_name(met.name)).field("ceiling", met.ceiling);
    out.field("times", met.times).end_object();
  });
  if (ending.exception) write_exception(out, *ending.exception);
  if (ending.reason) {
    const ReasonGiven& reason = *ending.reason;
    out.key("reason").begin_object().field("code", reason_name(reason.code)).field("message", reason.message);
    optional_field(out, "retry_after_ms", reason.retry_after_ms);
    out.end_object();
  }
}

void write_stream(json::Writer& out, std::string_view name, const StreamOutcome& stream) {
  out.key(name).begin_object().field("text", stream.text).field("bytes", stream.bytes);
  out.field("truncated", stream.truncated).field("lossy", stream.lossy);
  optional_field(out, "artifact", stream.artifact);
  out.end_object();
}

void write_products(json::Writer& out, const Outcome& outcome) {
  write_stream(out, "stdout", outcome.stdout_text);
  write_stream(out, "stderr", outcome.stderr_text);
  write_list(out, "output", outcome.output.pieces, kOutputSegmentsMax, outcome.output.left_out,
             [&](const OutputPiece& piece) {
               out.begin_object().field("stream", stream_name(piece.stream)).field("text", piece.text);
               out.end_object();
             });
  if (outcome.result) {
    out.key("result").begin_object();
    for (std::size_t i = 0; i < outcome.result->size() && i < kResultFormsMax; ++i) {
      out.field((*outcome.result)[i].media_type, (*outcome.result)[i].text);
    }
    out.end_object();
  }
  write_list(out, "artifacts", outcome.artifacts, kArtifactsMax, outcome.artifacts_left_out,
             [&](const Artifact& artifact) {
               out.begin_object().field("id", artifact.id).field("uri", artifact.uri);
               out.field("name", artifact.name).field("media_type", artifact.media_type);
               out.field("bytes", artifact.bytes).field("sha256", artifact.sha256);
               out.field("summary", artifact.summary);
               if (!artifact.description.empty()) out.field("description", artifact.description);
               out.field("state", artifact_state_name(artifact.state));
               out.field("volume_id", artifact.volume_id);
               optional_field(out, "expires_at", artifact.expires_at);
               out.end_object();
             });
  write_list(out, "calls", outcome.calls, kCallsShownMax, outcome.calls_left_out, [&](const Call& call) {
    out.begin_object().field("id", call.id).field("capability", call.capability);
    out.field("verdict", call.verdict).field("rule", call.rule).field("status", call.status);
    out.field("latency_ms", call.latency_ms);
    if (call.asked) {
      out.key("asked").begin_object().field("answer", call.asked->answer).field("by", call.asked->by);
      out.field("edited", call.asked->edited).field("waited_ms", call.asked->waited_ms).end_object();
    }
    out.end_object();
  });
  write_list(out, "labels", outcome.labels, kLabelsMax, 0,
             [&](const std::string& label) { out.value(label); });
  write_list(out, "withheld", outcome.withheld, kWithheldMax, 0, [&](const Withheld& withheld) {
    out.begin_object().field("sink", withheld.sink).field("verdict", withheld.verdict);
    out.field("rule", withheld.rule).field("reason", withheld.reason);
    out.field("bytes", withheld.bytes).end_object();
  });
}

void write_costs(json::Writer& out, const Outcome& outcome) {
  constexpr std::array<const char*, 3> kStarts = {"hot", "warm", "cold"};
  constexpr std::array<const char*, 3> kVerdicts = {"destroyed", "quarantined", "pending"};
  const Usage& usage = outcome.usage;
  out.key("usage").begin_object().field("wall_ms", usage.wall_ms).field("cpu_ms", usage.cpu_ms);
  out.field("memory_peak_bytes", usage.memory_peak_bytes).field("disk_peak_bytes", usage.disk_peak_bytes);
  out.field("pids_peak", usage.pids_peak).field("occupied_ms", usage.occupied_ms);
  out.field("minor_faults", usage.minor_faults).end_object();
  const Timing& timing = outcome.timing;
  out.key("timing").begin_object().field("queue_wait_ms", timing.queue_wait_ms);
  out.field("checkout_ms", timing.checkout_ms).field("execution_ms", timing.execution_ms);
  out.field("artifact_ms", timing.artifact_ms).field("teardown_ms", timing.teardown_ms);
  if (timing.start) out.field("start", kStarts.at(index_of(*timing.start)));
  if (!timing.cold_reason.empty()) out.field("cold_reason", timing.cold_reason);
  out.end_object();
  if (outcome.waited) {
    out.key("waited").begin_object().field("ms", outcome.waited->ms);
    out.field("frozen", outcome.waited->frozen).end_object();
  }
  out.key("teardown").begin_object().field("verdict", kVerdicts.at(index_of(outcome.teardown))).end_object();
}

}  // namespace

const char* status_name(Status status) { return kStatuses.at(index_of(status)); }
const char* reason_name(Reason reason) { return kReasons.at(index_of(reason)).name; }
Status status_of(Reason reason) { return kReasons.at(index_of(reason)).status; }
const char* remedy_of(Reason reason) { return kReasons.at(index_of(reason)).remedy; }

const char* artifact_state_name(ArtifactState state) {
  constexpr std::array<const char*, 3> kStates = {"stored", "pending", "failed"};
  return kStates.at(index_of(state));
}

std::string signal_name(int signal) {
  // sigabbrev_np(3), glibc 2.32: safe with threads, no locale.
  const char* name = sigabbrev_np(signal);
  return "SIG" + (name != nullptr ? std::string(name) : std::to_string(signal));
}

std::string write_json(const Outcome& outcome, json::Writer::Style style) {
  json::Writer out(style);
  out.begin_object();
  write_identity(out, outcome);
  write_end(out, outcome.ending);
  write_products(out, outcome);
  write_costs(out, outcome);
  if (outcome.record) write_record(out.key("record"), *outcome.record);
  out.field("report", outcome.report);
  out.end_object();
  return std::move(out).take();
}

int exit_code(const Outcome& outcome) {
  switch (outcome.ending.status) {
    case Status::kOk: return kExitOk;
    case Status::kError: return kExitError;
    case Status::kLimit: return kExitLimit;
    case Status::kCancelled: return kExitCancelled;
    case Status::kRefused: return kExitRefused;
    case Status::kUnavailable: return kExitUnavailable;
  }
  return kExitUnavailable;
}

}  // namespace casemate::outcome
