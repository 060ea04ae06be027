#include "reconcile/reconcile.h"

#include <utility>

#include "reconcile/pack.h"

namespace casemate::reconcile {
namespace {

// What a row is, its first byte; in the order in which those of one key come.
constexpr char kCase = '0', kEffect = '1', kBox = '1', kOutcome = '2', kArtifact = '3';
constexpr std::uint64_t kFirst = 0;

std::string row(char kind, const std::string& bytes) { return kind + bytes; }

std::string bytes_of(const Record& record) {
  return pack(record.kind, record.run, record.call, record.capability, record.word, record.key, record.box,
              record.volume, record.artifacts, record.writer, record.order,
              record.at.time_since_epoch().count());
}

Record record_from(std::string_view bytes) {
  Record made;
  std::int64_t at = 0;
  unpack(bytes, made.kind, made.run, made.call, made.capability, made.word, made.key, made.box, made.volume,
         made.artifacts, made.writer, made.order, at);
  made.at = Time(microseconds(at));
  return made;
}

Effect effect_from(std::string_view bytes) {
  Effect made;
  std::int64_t at = 0;
  unpack(bytes, made.key, made.capability, made.run, at, made.where);
  made.at = Time(microseconds(at));
  return made;
}

Box box_from(std::string_view bytes) {
  Box made;
  std::int64_t at = -1;
  unpack(bytes, made.run, made.box, made.volume, made.verdict, made.born, at, made.where);
  if (at >= 0) made.asked_at = Time(microseconds(at));
  return made;
}

OutcomeFacts outcome_from(std::string_view bytes) {
  OutcomeFacts made;
  unpack(bytes, made.run, made.box, made.status, made.artifacts, made.where);
  return made;
}

// Answers Question::kArtifacts.
void judge_artifact(std::string_view bytes, Report& report) {
  std::string id, fault;
  unpack(bytes, id, fault);
  if (fault.empty()) return report.good(Question::kArtifacts);
  report.bad(Question::kArtifacts, "not_terminal", id, fault);
}

}  // namespace

Result<Reconciler> Reconciler::make(Scope scope) {
  auto records = TRY(audit::SortedRows::make());
  auto runs = TRY(audit::SortedRows::make());
  auto effects = TRY(audit::SortedRows::make());
  return Reconciler(std::move(scope), std::move(records), std::move(runs), std::move(effects));
}

bool Reconciler::in_scope(const std::string& run, std::optional<Time> at) const {
  return (scope_.run.empty() || run == scope_.run) && (!scope_.since || !at || *at >= *scope_.since);
}

Result<void> Reconciler::add(Record record) {
  record.order = ++added_;
  return records_.add(pack(record.run, record.call), record.order, bytes_of(record));
}

Result<void> Reconciler::add(const Effect& effect) {
  return effects_.add(effect.key, kFirst + 1,
                      row(kEffect, pack(effect.key, effect.capability, effect.run,
                                        effect.at.time_since_epoch().count(), effect.where)));
}

Result<void> Reconciler::add(const Box& box) {
  const std::int64_t at = box.asked_at ? box.asked_at->time_since_epoch().count() : -1;
  return runs_.add(box.run, kFirst + 1,
                   row(kBox, pack(box.run, box.box, box.volume, box.verdict, box.born, at, box.where)));
}

Result<void> Reconciler::add(const OutcomeFacts& outcome) {
  return runs_.add(
      outcome.run, kFirst + 2,
      row(kOutcome, pack(outcome.run, outcome.box, outcome.status, outcome.artifacts, outcome.where)));
}

Result<void> Reconciler::add_artifact(const std::string& run, const std::string& id,
                                      const std::string& fault) {
  return runs_.add(run, kFirst + 3, row(kArtifact, pack(id, fault)));
}

void Reconciler::unreadable(Question question, const std::string& where, const std::string& why) {
  report_.bad(question, "unreadable", where, why);
}

Result<void> Reconciler::put_run(RunCase& run) {
  run.in_scope = in_scope(run.run, run.at);
  return runs_.add(run.run, kFirst, row(kCase, run.packed()));
}

Result<void> Reconciler::put_call(CallCase& call, const RunCase& run) {
  call.in_scope = run.in_scope;
  if (call.in_scope) call.judge(run, report_);
  if (!call.key.empty()) return effects_.add(call.key, kFirst, row(kCase, call.packed()));
  CallWatch(call).end(report_);  // it can be seen by nothing
  return {};
}

// The records of a run come together, its own before those of its calls.
Result<void> Reconciler::join_records() {
  std::optional<RunCase> run;
  bool put = false;
  std::optional<CallCase> call;
  const auto close_call = [&]() -> Result<void> {
    if (call) TRY(put_call(*call, *run));
    call.reset();
    return {};
  };
  const auto close_run = [&]() -> Result<void> {
    TRY(close_call());
    if (run && !put) TRY(put_run(*run));
    run.reset();
    return {};
  };
  const auto take_record = [&](std::string_view, std::string_view bytes) -> Result<void> {
    const Record record = record_from(bytes);
    if (!run || run->run != record.run) {
      TRY(close_run());
      run.emplace();
      run->run = record.run;
      run->at = record.at;
      put = false;
    }
    if (record.call.empty()) {
      run->add(record);
      return {};
    }
    if (!put) TRY(put_run(*run));
    put = true;
    if (!call || call->call != record.call) {
      TRY(close_call());
      call.emplace();
    }
    call->add(record);
    return {};
  };
  TRY(records_.each(take_record));
  return close_run();
}

Result<void> Reconciler::join_effects() {
  std::optional<CallWatch> watch;
  const auto close = [&] {
    if (watch) watch->end(report_);
    watch.reset();
  };
  const auto take_row = [&](std::string_view key, std::string_view bytes) -> Result<void> {
    if (watch && watch->of().key != key) close();
    if (bytes.front() == kCase) {
      CallCase call = CallCase::unpacked(bytes.substr(1));
      if (watch && call.in_scope)
        report_.bad(Question::kVerdicts, "key_twice", call.call,
                    "its effect would be known by the same key as that of " + watch->of().call);
      if (!watch) watch.emplace(std::move(call));
      return {};
    }
    const Effect effect = effect_from(bytes.substr(1));
    if (watch) {
      watch->see(effect, scope_.tolerance, report_);
    } else if (in_scope(effect.run, effect.at)) {
      report_.bad(Question::kEffects, "unknown_effect", effect.key,
                  effect.where + ": " + effect.capability + " for " + effect.run +
                      " was seen, and there is no verdict of it");
    }
    return {};
  };
  TRY(effects_.each(take_row));
  close();
  return {};
}

// What is of no recorded run.
void Reconciler::see_stranger(std::string_view bytes, char row) {
  if (row == kOutcome) {
    const OutcomeFacts outcome = outcome_from(bytes);
    // One that has no box was refused, and never admitted.
    if (!outcome.box.empty() && !scope_.since && in_scope(outcome.run, std::nullopt))
      report_.bad(Question::kRuns, "unknown_outcome", outcome.run,
                  outcome.where + ": there is an outcome, and the log does not have this run");
  }
  if (row != kBox || !scope_.boxes_of_these) return;
  const Box box = box_from(bytes);
  if (!in_scope(box.run, box.asked_at)) return;
  if (!box.run.empty())
    return report_.bad(Question::kRuns, "unknown_box", box.box,
                       box.where + ": it was of " + box.run + ", and the log does not have this run");
  if (box.verdict == "destroyed" || box.verdict == "quarantined") return report_.good(Question::kLayers);
  report_.bad(Question::kLayers, "no_verdict", box.volume, box.where + ": nothing says what became of it");
}

Result<void> Reconciler::join_runs() {
  std::optional<RunWatch> watch;
  const auto close = [&] {
    if (watch) watch->end(report_);
    watch.reset();
  };
  const auto take_row = [&](std::string_view run, std::string_view bytes) -> Result<void> {
    if (watch && watch->of().run != run) close();
    const char kind = bytes.front();
    bytes.remove_prefix(1);
    if (kind == kCase) {
      close();
      watch.emplace(RunCase::unpacked(bytes));
    } else if (!watch) {
      see_stranger(bytes, kind);
    } else if (kind == kBox) {
      watch->see(box_from(bytes));
    } else if (kind == kOutcome) {
      watch->see(outcome_from(bytes));
    } else if (watch->of().in_scope) {
      judge_artifact(bytes, report_);
    }
    return {};
  };
  TRY(runs_.each(take_row));
  close();
  return {};
}

Result<Report> Reconciler::finish() {
  TRY(join_records());
  TRY(join_effects());
  TRY(join_runs());
  return std::move(report_);
}

}  // namespace casemate::reconcile
