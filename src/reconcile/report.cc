#include "reconcile/report.h"

#include <algorithm>

#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::reconcile {
namespace {

constexpr std::size_t kShownMax = 400;

struct Words {
  const char* name;
  const char* text;
};
constexpr std::array<Words, static_cast<std::size_t>(Question::kCount)> kWords = {{
    {"runs", "runs received exactly one box"},
    {"ends", "runs have their end in the log, in order"},
    {"layers", "layers ended destroyed or quarantined"},
    {"verdicts", "verdicts are of a recorded run, and have their result"},
    {"effects", "observed effects had a prior verdict"},
    {"calls", "calls that were made were observed"},
    {"artifacts", "declared artifacts reached a terminal state"},
}};

}  // namespace

const char* question_name(Question question) { return kWords.at(static_cast<std::size_t>(question)).name; }
const char* question_text(Question question) { return kWords.at(static_cast<std::size_t>(question)).text; }

void Report::good(Question question, std::uint64_t count) {
  Answer& answer = answers_.at(static_cast<std::size_t>(question));
  answer.good += count;
  answer.whole += count;
}

void Report::bad(Question question, std::string kind, std::string id, std::string what) {
  Answer& answer = answers_.at(static_cast<std::size_t>(question));
  ++answer.whole;
  if (++answer.kinds[kind] <= kOffendersShown)
    answer.first.push_back({std::move(kind), std::move(id), std::move(what)});
}

bool Report::ok() const {
  return runs > 0 && std::all_of(answers_.begin(), answers_.end(),
                                 [](const Answer& answer) { return answer.good == answer.whole; });
}

std::string percent(std::uint64_t good, std::uint64_t whole) {
  if (whole == 0) return "none";
  if (good == whole) return "100 %";
  const std::uint64_t hundredths = good * 10'000 / whole;  // cut, not rounded
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest + " %";
}

std::string report_text(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    const auto question = static_cast<Question>(i);
    const Answer& answer = report.of(question);
    text += std::to_string(answer.good) + " of " + std::to_string(answer.whole) + " " +
            question_text(question) + "; " + percent(answer.good, answer.whole) + "\n";
    for (const auto& [kind, count] : answer.kinds) {
      for (const Offender& offender : answer.first) {
        if (offender.kind != kind) continue;
        text += "    " + kind + ": " + json::one_line(offender.id, kShownMax) + ": " +
                json::one_line(offender.what, kShownMax) + "\n";
      }
      if (count > kOffendersShown)
        text += "    " + kind + ": and " + std::to_string(count - kOffendersShown) + " more\n";
    }
  }
  if (report.quarantined > 0)
    text +=
        "note: " + std::to_string(report.quarantined) + " layers are quarantined; see `casemate doctor`\n";
  if (report.runs == 0) text += "no run is recorded: there is nothing that could be complete\n";
  return text + (report.ok() ? "complete\n" : "NOT complete\n");
}

std::string report_json(const Report& report) {
  json::Writer out;
  out.begin_object().field("complete", report.ok()).field("runs", report.runs);
  out.field("quarantined", report.quarantined).key("questions").begin_array();
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    const auto question = static_cast<Question>(i);
    const Answer& answer = report.of(question);
    out.begin_object().field("name", question_name(question)).field("text", question_text(question));
    out.field("good", answer.good).field("whole", answer.whole);
    out.key("offenders").begin_object();
    for (const auto& [kind, count] : answer.kinds) out.field(kind, count);
    out.end_object().key("first").begin_array();
    for (const Offender& offender : answer.first) {
      out.begin_object().field("kind", offender.kind).field("id", offender.id);
      out.field("what", offender.what).end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return std::move(out).take() + "\n";
}

}  // namespace casemate::reconcile
