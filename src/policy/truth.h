// Three-valued truth: what a condition says of arguments that may be missing or of another type.
#pragma once

#include <string>
#include <utility>

namespace casemate::policy {

// Unknown in an allow rule allows nothing; in a deny or ask rule it counts as a match.
enum class Truth : unsigned char { kFalse, kUnknown, kTrue };

// A truth, and for an unknown one why: "`amount` is missing". In S. C. Kleene's strong logic what is unknown
// stays so unless the other side decides alone; so a condition that is true with an argument missing is true
// with every value of it.
struct Answer {
  Truth truth = Truth::kUnknown;
  std::string why;

  static Answer of(bool truth) { return {truth ? Truth::kTrue : Truth::kFalse, {}}; }
  static Answer unknown(std::string why) { return {Truth::kUnknown, std::move(why)}; }
};

inline Answer negated(Answer answer) {
  if (answer.truth == Truth::kTrue) return Answer::of(false);
  if (answer.truth == Truth::kFalse) return Answer::of(true);
  return answer;
}

// The least of two, of which unknown is the middle; of two unknown ones the first.
inline Answer both(Answer a, Answer b) { return b.truth < a.truth ? std::move(b) : std::move(a); }
// The greatest of two.
inline Answer either(Answer a, Answer b) { return b.truth > a.truth ? std::move(b) : std::move(a); }

}  // namespace casemate::policy
