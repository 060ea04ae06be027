#include "audit/record.h"

#include <algorithm>

namespace casemate::audit {
namespace {

const char* step_name(RunEvent::Step step) {
  switch (step) {
    case RunEvent::Step::kAllocated: return "allocated";
    case RunEvent::Step::kExecuted: return "executed";
    case RunEvent::Step::kTornDown: return "torn_down";
  }
  return "";
}

const char* step_name(LogEvent::Step step) {
  switch (step) {
    case LogEvent::Step::kOpened: return "opened";
    case LogEvent::Step::kTornTailCut: return "torn_tail_cut";
    case LogEvent::Step::kClosed: return "closed";
  }
  return "";
}

// A span that is not known is absent; one below zero is a clock's fault and shown as none.
template <typename Span>
void span(Fields& fields, std::string_view name, const std::optional<Span>& value) {
  if (value) fields.number(name, static_cast<std::uint64_t>(std::max(value->count(), typename Span::rep{0})));
}

}  // namespace

const char* answer_name(Answer answer) {
  switch (answer) {
    case Answer::kAllow: return "allow";
    case Answer::kDeny: return "deny";
    case Answer::kAsk: return "ask";
  }
  return "";
}

void write_fields(Fields& fields, const Verdict& verdict) {
  fields.id("run", verdict.run)
      .id("call", verdict.call)
      .id("capability", verdict.capability)
      .id("verdict", answer_name(verdict.answer))
      .optional_id("rule", verdict.rule)
      .text("reason", verdict.reason)
      .optional_digest("policy_sha256", verdict.policy_sha256)
      .digest("arguments_sha256", verdict.arguments_sha256)
      .optional_id("destination_class", verdict.destination_class)
      .keyed("destination_hmac", verdict.destination)
      .list("labels", verdict.labels)
      .list("effects", verdict.effects)
      .optional_id("idempotency_key", verdict.idempotency_key);
}

void write_fields(Fields& fields, const CallResult& result) {
  fields.id("run", result.run)
      .id("call", result.call)
      .id("capability", result.capability)
      .id("status", result.status)
      .optional_digest("result_sha256", result.result_sha256)
      .number("result_bytes", result.result_bytes);
  span(fields, "latency_us", std::optional(result.latency));
  fields.list("labels_joined", result.labels_joined);
}

void write_fields(Fields& fields, const WithheldSink& withheld) {
  fields.id("run", withheld.run)
      .id("capability", withheld.sink)
      .id("verdict", withheld.verdict)
      .optional_id("rule", withheld.rule)
      .text("reason", withheld.reason)
      .optional_digest("policy_sha256", withheld.policy_sha256)
      .list("labels", withheld.labels);
}

void write_fields(Fields& fields, const RunEvent& event) {
  fields.id("run", event.run)
      .id("step", step_name(event.step))
      .optional_id("tenant", event.tenant)
      .optional_id("sandbox", event.sandbox)
      .optional_id("class", event.slot_class)
      .optional_id("image", event.image)
      .optional_id("isolation", event.isolation)
      .optional_id("volume", event.volume)
      .optional_id("status", event.status)
      .list("weakenings", event.weakenings);
  span(fields, "queue_wait_ms", event.queue_wait);
  span(fields, "checkout_ms", event.checkout);
  span(fields, "execution_ms", event.execution);
  span(fields, "artifact_ms", event.artifact);
  span(fields, "teardown_ms", event.teardown);
  if (event.artifacts) fields.number("artifacts", *event.artifacts);
}

void write_fields(Fields& fields, const AnsweredApproval& answered) {
  fields.id("run", answered.run)
      .id("call", answered.call)
      .id("capability", answered.capability)
      .number("asked", answered.asked)
      .id("verdict", answer_name(answered.approval.answer))
      .id("by", answered.approval.by)
      .text("reason", answered.approval.reason);
  if (!answered.approval.arguments_sha256.empty())
    fields.digest("arguments_sha256", answered.approval.arguments_sha256)
        .keyed("destination_hmac", answered.approval.destination);
}

void write_fields(Fields& fields, const LogEvent& event) {
  fields.id("step", step_name(event.step));
  switch (event.step) {
    case LogEvent::Step::kOpened:
      fields.id("after", event.after).digest("key_sha256", event.key_sha256);
      break;
    case LogEvent::Step::kTornTailCut:
      fields.number("segment", event.segment).number("bytes", event.bytes);
      break;
    case LogEvent::Step::kClosed: break;
  }
}

void write_fields(Fields& fields, const SegmentHeader& header) {
  fields.number("format", kFormat)
      .id("writer", header.writer)
      .id("instance", header.instance)
      .number("segment", header.segment);
}

void write_fields(Fields& fields, const ListedWriter& writer) {
  fields.id("writer", writer.writer).id("instance", writer.instance);
}

}  // namespace casemate::audit
