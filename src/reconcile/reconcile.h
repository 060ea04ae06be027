// Joins what the audit log says with what others saw.
//
// All of it goes through rows that are put in order on the disk, so memory does not grow with it: records by
// run and call, then calls by the key of their effect beside the effects, and runs beside boxes and outcomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/sorted_rows.h"
#include "base/result.h"
#include "reconcile/cases.h"
#include "reconcile/report.h"
#include "reconcile/rows.h"

namespace casemate::reconcile {

struct Scope {
  std::string run;            // this one alone; empty: all
  std::optional<Time> since;  // runs whose first record is not before; what nobody knows, by its own time
  // How far an observer's clock may be behind that of the log.
  microseconds tolerance{1'000'000};
  // The boxes are those of recorded runs alone: a box of another is an offender.
  bool boxes_of_these = false;
};

// One thread. Give it everything, then finish(). Errors of all: unavailable (the disk).
class Reconciler {
 public:
  static Result<Reconciler> make(Scope scope);

  // In the order of their logs, one log after the other.
  Result<void> add(Record record);
  Result<void> add(const Effect& effect);
  Result<void> add(const Box& box);
  Result<void> add(const OutcomeFacts& outcome);
  // An artifact of an outcome. `fault`: why it has not reached a terminal state; empty: it has.
  Result<void> add_artifact(const std::string& run, const std::string& id, const std::string& fault);
  // A line that says nothing: whoever wrote it may have meant an offender.
  void unreadable(Question question, const std::string& where, const std::string& why);

  Result<Report> finish();

 private:
  Reconciler(Scope scope, audit::SortedRows records, audit::SortedRows runs, audit::SortedRows effects)
      : scope_(std::move(scope)),
        records_(std::move(records)),
        runs_(std::move(runs)),
        effects_(std::move(effects)) {}

  bool in_scope(const std::string& run, std::optional<Time> at) const;
  Result<void> join_records();
  Result<void> put_run(RunCase& run);
  Result<void> put_call(CallCase& call, const RunCase& run);
  Result<void> join_effects();
  Result<void> join_runs();
  void see_stranger(std::string_view bytes, char row);

  Scope scope_;
  audit::SortedRows records_, runs_, effects_;
  Report report_;
  std::uint64_t added_ = 0;
};

}  // namespace casemate::reconcile
