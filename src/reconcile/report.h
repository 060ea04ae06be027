// The questions, and what was found of each: exact counts, and the first that are not as they should be.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace casemate::reconcile {

enum class Question {
  kRuns,       // each admitted run received exactly one box
  kEnds,       // each run has its end in the log, in order
  kLayers,     // each layer ended destroyed or quarantined
  kVerdicts,   // each verdict is of a recorded run, and each allowed call has its result
  kEffects,    // each observed effect had a prior verdict
  kCalls,      // each call that is said to have been made was observed
  kArtifacts,  // each declared artifact reached a terminal state
  kCount,
};
// "runs", …; and the end of "28 of 28 …".
const char* question_name(Question question);
const char* question_text(Question question);

// Something that is not as it should be.
struct Offender {
  std::string kind;  // "unknown_effect": one word of a closed list (docs/reconcile.md)
  std::string id;    // of the call, the run, the box, or which line of which file
  std::string what;  // for a person
};

struct Answer {
  std::uint64_t good = 0;
  std::uint64_t whole = 0;
  std::map<std::string, std::uint64_t> kinds;  // of offenders, and how many of each
  std::vector<Offender> first;                 // of each kind the first kOffendersShown
};
inline constexpr std::uint64_t kOffendersShown = 3;

class Report {
 public:
  void good(Question question, std::uint64_t count = 1);
  // Not as it should be: counts as one that was asked for, and not found good.
  void bad(Question question, std::string kind, std::string id, std::string what);

  const Answer& of(Question question) const { return answers_.at(static_cast<std::size_t>(question)); }
  // Every answer is whole, and there was a run to ask about: absence is failure.
  bool ok() const;
  std::uint64_t runs = 0;         // in scope
  std::uint64_t quarantined = 0;  // of their layers: a terminal state, but one to be looked at

 private:
  std::array<Answer, static_cast<std::size_t>(Question::kCount)> answers_;
};

// "100 %", and never for less than all: "99.99 %"; "none" of nothing.
std::string percent(std::uint64_t good, std::uint64_t whole);
std::string report_text(const Report& report);
std::string report_json(const Report& report);

}  // namespace casemate::reconcile
