#include "bridge/perform.h"

#include <utility>
#include <variant>

#include "crypto/sha256.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "policy/vocabulary.h"
#include "schema/check.h"

namespace casemate::bridge {
namespace {

constexpr std::size_t kResultValuesMax = 1'000'000;
constexpr std::size_t kMessageMax = 4096;
constexpr milliseconds kRecordTime{10'000};

audit::Durability durability_of(const Job& job) {
  return job.granted->tool.durable ? audit::Durability::kDurable : audit::Durability::kBuffered;
}

std::string line_of(std::string_view text) { return json::one_line(text, kMessageMax); }

Performed unavailable(const Job& job, std::string message, std::optional<bool> effect) {
  return {reply_of(job.verdict.capability, CallError{"unavailable", std::move(message), effect}),
          "unavailable", false};
}

Performed denied(const Job& job) {
  const audit::Verdict& verdict = job.verdict;
  std::string message = "it is not allowed";
  if (verdict.answer == audit::Answer::kAsk)
    message = "it has to be approved by a person, and nobody is there to be asked";
  if (!job.refusal.empty()) message = job.refusal;
  if (job.approval && !job.approval->reason.empty() && job.approval->by != "nobody")
    message += ": " + line_of(job.approval->reason);
  return {reply_of(verdict.capability, Denial{message, verdict.rule, verdict.reason}), "denied", false};
}

// Why the text of an answer is no result; nothing: it is one.
std::optional<std::string> fault_of(const Job& job, std::string_view text) {
  if (text.size() > job.result_max.count)
    return "its result has " + format_bytes(Bytes{text.size()}) + ", and a result may have " +
           format_bytes(job.result_max);
  const json::ReadLimits limits{job.result_max.count, json::kReaderDepthMax, kResultValuesMax};
  const auto value = json::read(text, limits);
  if (!value) return "its result is no JSON that can be taken: " + line_of(value.error().message);
  if (!job.granted->tool.result) return std::nullopt;
  const auto report = schema::check(*job.granted->tool.result, *value);
  if (!report) return "its result cannot be checked: " + report.error().message;
  if (report->faults.empty()) return std::nullopt;
  return "its result is not what its schema says: " + line_of(schema::line_of(report->faults.front()));
}

Performed answered(const Job& job, ConnectorAnswer answer) {
  const std::string& capability = job.verdict.capability;
  const auto error = [&](const char* code, std::string message, std::optional<bool> effect) {
    return reply_of(capability, CallError{code, std::move(message), effect});
  };
  switch (answer.kind) {
    case ConnectorAnswer::Kind::kToolError:
      return {error("failed", json::to_text(answer.text.substr(0, kMessageMax)).text, std::nullopt), "error",
              true};
    case ConnectorAnswer::Kind::kNotDone:
      return {error("unavailable", line_of(answer.text), false), "unavailable", false};
    case ConnectorAnswer::Kind::kDeclined:
      return {error("unavailable", line_of(answer.text), false), "unavailable", true};
    case ConnectorAnswer::Kind::kUnknown:
      return {error("unknown", line_of(answer.text), std::nullopt), "unknown", true};
    case ConnectorAnswer::Kind::kValue: break;
  }
  if (auto fault = fault_of(job, answer.text))
    return {error("unknown", std::move(*fault), std::nullopt), "unknown", true};
  return {{frame::ReplyStatus::kValue, std::move(answer.text), job.granted->typed}, "ok", true};
}

// The one way to a connector.
Performed make_call(const Job& job, audit::Recorded record) {
  const Tool& tool = job.granted->tool;
  const ConnectorCall call{job.verdict.capability, job.arguments, job.verdict.run,
                           job.verdict.idempotency_key};
  Performed done = answered(job, tool.connector->call(std::move(record), call, Deadline::in(tool.time_max)));

  audit::CallResult result;
  result.run = job.verdict.run;
  result.call = job.verdict.call;
  result.capability = job.verdict.capability;
  result.status = done.status;
  result.result_sha256 = crypto::sha256_hex(done.reply.json);
  result.result_bytes = done.reply.json.size();
  result.latency = std::chrono::duration_cast<microseconds>(now() - job.begun);
  if (done.reached) {
    const policy::Labels brought = policy::labels_of(job.grants->policy, tool.capability);
    for (const auto& [label, source] : brought.all()) result.labels_joined.push_back(label);
  }
  // Buffered: nothing hangs on it but what is told, and the next durable record covers it, the run's `torn
  // down` at the latest.
  if (const auto put =
          job.grants->log->append(result, audit::Durability::kBuffered, Deadline::in(kRecordTime));
      !put)
    return unavailable(job, "it was made, and what came of it could not be recorded: " + put.error().message,
                       std::nullopt);
  return done;
}

Performed not_recorded(const Job& job, const Error& error) {
  return unavailable(job, "it was not made, since it could not be recorded: " + error.message, false);
}

// A person has answered, or nobody did.
Performed go_on(Job& job) {
  auto answered = job.grants->log->record(*job.approval, std::move(*job.asked), durability_of(job),
                                          Deadline::in(kRecordTime));
  if (!answered) return not_recorded(job, answered.error());
  if (auto* record = std::get_if<audit::Recorded>(&*answered)) return make_call(job, std::move(*record));
  return denied(job);
}

}  // namespace

Performed perform(Job& job) {
  if (job.asked) return go_on(job);
  auto judged = job.grants->log->record(job.verdict, durability_of(job), Deadline::in(kRecordTime));
  if (!judged) return not_recorded(job, judged.error());
  if (auto* record = std::get_if<audit::Recorded>(&*judged)) return make_call(job, std::move(*record));
  auto* asked = std::get_if<audit::Asked>(&*judged);
  if (asked == nullptr) return denied(job);
  job.asked.emplace(std::move(*asked));
  if (job.grants->desk != nullptr) return {{}, "asked", false, /*waits=*/true};
  job.approval = audit::Approval{audit::Answer::kDeny, "nobody", "there is nobody to be asked"};
  return go_on(job);
}

}  // namespace casemate::bridge
