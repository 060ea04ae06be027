// What the records of a run, and of a call, come to; and how each is judged against what others saw. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reconcile/report.h"
#include "reconcile/rows.h"

namespace casemate::reconcile {

// The records of one run, in their order.
class RunCase {
 public:
  std::string run;
  Time at;                                                   // of its first record
  std::uint64_t allocated = 0, executed = 0, torn_down = 0;  // how many of each
  std::uint64_t writer = 0, begun = 0;                       // where its allocation is
  std::uint64_t last = 0;                                    // its last step
  bool in_order = true;
  bool in_scope = true;
  std::string box, volume, status, verdict;
  std::uint64_t artifacts = 0;

  void add(const Record& record);
  std::string packed() const;
  static RunCase unpacked(std::string_view bytes);
};

// The records of one call.
class CallCase {
 public:
  std::string run, call, capability, key;
  Time allowed_at;
  bool allowed = false, in_scope = true;
  std::string status;  // of its result

  void add(const Record& record);
  // Answers Question::kVerdicts.
  void judge(const RunCase& of, Report& report) const;
  std::string packed() const;
  static CallCase unpacked(std::string_view bytes);
  // What it says of itself obliges somebody else to have seen it.
  bool made() const { return allowed && (status == "ok" || status == "error"); }

 private:
  std::string verdict_;
  std::uint64_t verdicts_ = 0, approvals_ = 0, results_ = 0, writer_ = 0, begun_ = 0;
  bool in_order_ = true, strange_ = false;
};

// One call against the effects that have its key, as they come.
class CallWatch {
 public:
  explicit CallWatch(CallCase of) : case_(std::move(of)) {}
  const CallCase& of() const { return case_; }
  // `tolerance`: how far the observer's clock may be behind the log's.
  void see(const Effect& effect, microseconds tolerance, Report& report);
  // Answers Question::kCalls when nobody saw more.
  void end(Report& report) const;

 private:
  CallCase case_;
  bool observed_ = false;
};

// What an outcome's document says.
struct OutcomeFacts {
  std::string run, box, status;
  std::uint64_t artifacts = 0;  // listed and left out
  std::string where;
};

// One run against boxes, outcomes and artifacts, as they come.
class RunWatch {
 public:
  explicit RunWatch(RunCase of) : case_(std::move(of)) {}
  const RunCase& of() const { return case_; }
  void see(const Box& box);
  void see(const OutcomeFacts& outcome);
  void end(Report& report) const;

 private:
  void judge_box(Report& report) const;
  void judge_end(Report& report) const;
  void judge_layer(Report& report) const;

  RunCase case_;
  std::uint64_t boxes_ = 0, outcomes_ = 0;
  Box box_;               // the first
  OutcomeFacts outcome_;  // likewise
};

}  // namespace casemate::reconcile
