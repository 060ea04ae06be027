#include "reconcile/cases.h"

#include <utility>

#include "reconcile/pack.h"

namespace casemate::reconcile {
namespace {

std::int64_t number_of(Time at) { return at.time_since_epoch().count(); }
Time time_from(std::int64_t number) { return Time(microseconds(number)); }

bool is_terminal(std::string_view verdict) { return verdict == "destroyed" || verdict == "quarantined"; }

}  // namespace

void RunCase::add(const Record& record) {
  if (allocated + executed + torn_down == 0) at = record.at;
  switch (record.kind) {
    case Record::Kind::kAllocated:
      ++allocated;
      writer = record.writer;
      begun = record.order;
      box = record.box;
      volume = record.volume;
      break;
    case Record::Kind::kExecuted:
      if (torn_down > 0) in_order = false;
      ++executed;
      status = record.word;
      artifacts = record.artifacts;
      break;
    case Record::Kind::kTornDown:
      ++torn_down;
      verdict = record.word;
      break;
    case Record::Kind::kVerdict:
    case Record::Kind::kApproval:
    case Record::Kind::kResult: return;  // of a call
  }
  if (allocated == 0 || record.writer != writer || record.box != box || record.volume != volume)
    in_order = false;
}

std::string RunCase::packed() const {
  return pack(run, number_of(at), allocated, executed, torn_down, in_order, in_scope, box, volume, status,
              verdict, artifacts);
}

RunCase RunCase::unpacked(std::string_view bytes) {
  RunCase made;
  std::int64_t at = 0;
  unpack(bytes, made.run, at, made.allocated, made.executed, made.torn_down, made.in_order, made.in_scope,
         made.box, made.volume, made.status, made.verdict, made.artifacts);
  made.at = time_from(at);
  return made;
}

void CallCase::add(const Record& record) {
  if (verdicts_ == 0) {
    run = record.run;
    call = record.call;
    capability = record.capability;
    writer_ = record.writer;
    begun_ = record.order;
  }
  if (record.capability != capability || record.writer != writer_) strange_ = true;
  switch (record.kind) {
    case Record::Kind::kVerdict:
      ++verdicts_;
      key = record.key;
      verdict_ = record.word;
      allowed = record.word == "allow";
      allowed_at = record.at;
      break;
    case Record::Kind::kApproval:
      if (verdict_ != "ask") in_order_ = false;
      ++approvals_;
      allowed = verdict_ == "ask" && record.word == "allow";
      allowed_at = record.at;
      break;
    case Record::Kind::kResult:
      if (!allowed) in_order_ = false;
      ++results_;
      status = record.word;
      break;
    case Record::Kind::kAllocated:
    case Record::Kind::kExecuted:
    case Record::Kind::kTornDown: break;  // of the run
  }
}

void CallCase::judge(const RunCase& of, Report& report) const {
  const auto bad = [&](const char* kind, const char* what) {
    report.bad(Question::kVerdicts, kind, call, what);
  };
  if (verdicts_ == 0) return bad("no_verdict", "there is a result or an answer, and no verdict before it");
  if (verdicts_ > 1) return bad("verdict_twice", "it was judged more than once");
  if (of.allocated == 0) return bad("run_not_recorded", "it is of a run that the log does not have");
  if (writer_ != of.writer || begun_ < of.begun)
    return bad("before_its_run", "it was judged before its run was recorded, or in another log");
  if (verdict_ == "ask" && approvals_ == 0)
    return bad("not_answered", "it was asked for, and nobody answered");
  if (!allowed && results_ > 0) return bad("result_of_denied", "it was not allowed, and has a result");
  if (!in_order_ || strange_ || approvals_ > 1 || results_ > 1)
    return bad("out_of_order", "its records do not follow from each other");
  if (allowed && results_ == 0)
    return bad("no_result", "it was allowed, and nothing says what became of it: it ended with its run");
  report.good(Question::kVerdicts);
}

std::string CallCase::packed() const {
  return pack(run, call, capability, key, number_of(allowed_at), allowed, in_scope, status);
}

CallCase CallCase::unpacked(std::string_view bytes) {
  CallCase made;
  std::int64_t at = 0;
  unpack(bytes, made.run, made.call, made.capability, made.key, at, made.allowed, made.in_scope, made.status);
  made.allowed_at = time_from(at);
  return made;
}

void CallWatch::see(const Effect& effect, microseconds tolerance, Report& report) {
  if (!case_.in_scope) return;
  const auto bad = [&](const char* kind, const std::string& what) {
    report.bad(Question::kEffects, kind, effect.key, effect.where + ": " + what);
  };
  if (effect.run != case_.run)
    return bad("other_run", "seen for " + effect.run + ", judged for " + case_.run);
  if (effect.capability != case_.capability)
    return bad("other_capability", "seen as " + effect.capability + ", judged as " + case_.capability);
  if (!case_.allowed) return bad("not_allowed", "it was not allowed, and was seen all the same");
  if (observed_) return bad("observed_twice", "one verdict is for one effect, and this is another");
  observed_ = true;
  if (effect.at + tolerance < case_.allowed_at)
    return bad("before_its_verdict", "it was seen at " + audit::format_time(effect.at) + ", and allowed at " +
                                         audit::format_time(case_.allowed_at));
  if (case_.status == "unavailable")
    return bad("said_not_made", "its result says that it was not made, and it was seen");
  report.good(Question::kEffects);
}

void CallWatch::end(Report& report) const {
  if (!case_.in_scope || !case_.made()) return;
  if (observed_) return report.good(Question::kCalls);
  report.bad(Question::kCalls, "not_observed", case_.call,
             "its result is " + case_.status + ", and nobody saw it");
}

void RunWatch::see(const Box& box) {
  if (boxes_++ == 0) box_ = box;
}

void RunWatch::see(const OutcomeFacts& outcome) {
  if (outcomes_++ == 0) outcome_ = outcome;
}

void RunWatch::judge_box(Report& report) const {
  const auto bad = [&](const char* kind, const std::string& what) {
    report.bad(Question::kRuns, kind, case_.run, what);
  };
  if (case_.allocated == 0) return bad("not_allocated", "it has records, and none of its allocation");
  // A box that could not be made was never given the program.
  const bool never_made = case_.executed == 0 && case_.torn_down == 1 && case_.verdict == "destroyed";
  if (boxes_ == 0 && !never_made) return bad("no_box", "there is no record of its box");
  if (boxes_ > 1) return bad("boxes", "it had " + std::to_string(boxes_) + " boxes");
  if (boxes_ == 1 && (box_.box != case_.box || box_.volume != case_.volume))
    return bad("other_box", "it was to have " + case_.box + ", and " + box_.where + " says " + box_.box);
  if (boxes_ == 1 && box_.born && case_.executed == 0 && case_.torn_down > 0)
    return bad("not_executed", "its box was ready, and the log does not say that it was executed");
  report.good(Question::kRuns);
}

void RunWatch::judge_end(Report& report) const {
  const auto bad = [&](const char* kind, const std::string& what) {
    report.bad(Question::kEnds, kind, case_.run, what);
  };
  if (case_.allocated > 1 || case_.executed > 1 || case_.torn_down > 1)
    return bad("step_twice", "a step of it is recorded more than once");
  if (case_.executed + case_.torn_down == 0) return bad("no_end", "it began, and nothing says how it ended");
  if (case_.torn_down == 0)
    return bad("no_teardown", "it was executed, and nothing says that it was torn down");
  if (!case_.in_order) return bad("out_of_order", "its steps do not follow from each other");
  if (outcomes_ > 1) return bad("outcome_twice", "it has more than one outcome");
  if (outcomes_ == 1 &&
      (outcome_.box != case_.box || (case_.executed == 1 && outcome_.status != case_.status)))
    return bad("other_outcome", outcome_.where + " says " + outcome_.status + " of " + outcome_.box +
                                    ", and the log " + case_.status + " of " + case_.box);
  report.good(Question::kEnds);
}

void RunWatch::judge_layer(Report& report) const {
  const auto bad = [&](const char* kind, const std::string& what) {
    report.bad(Question::kLayers, kind, case_.volume.empty() ? case_.run : case_.volume, what);
  };
  if (!is_terminal(case_.verdict)) return bad("no_verdict", "the log does not say what became of it");
  if (boxes_ > 0 && box_.verdict != case_.verdict)
    return bad("other_verdict", box_.where + " says '" + box_.verdict + "', and the log " + case_.verdict);
  if (case_.verdict == "quarantined") ++report.quarantined;
  report.good(Question::kLayers);
}

void RunWatch::end(Report& report) const {
  if (!case_.in_scope) return;
  ++report.runs;
  judge_box(report);
  judge_end(report);
  judge_layer(report);
  if (outcomes_ == 0 && case_.artifacts > 0) {
    report.bad(Question::kArtifacts, "no_outcome", case_.run,
               "it has " + std::to_string(case_.artifacts) + " artifacts, and there is no outcome of it");
  } else if (outcomes_ > 0 && outcome_.artifacts != case_.artifacts) {
    report.bad(Question::kArtifacts, "other_count", case_.run,
               outcome_.where + " has " + std::to_string(outcome_.artifacts) + ", and the log " +
                   std::to_string(case_.artifacts));
  }
}

}  // namespace casemate::reconcile
