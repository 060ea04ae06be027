// Conditions of `[[flow]]` rules: on what a run was exposed to and where a call leads.
//
//     test = label [ "not" ] "in" "run" | ( "sink" | "effect" ) ( "==" | "!=" ) word
//
// with `and`, `or`, `not` and parentheses. All of it is known, so it is true or false.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/boolean.h"
#include "policy/vocabulary.h"

namespace casemate::policy {

// What a call, or a way out of the run, leads to.
struct Passage {
  std::set<std::string, std::less<>> sinks;  // classes: "external"; of a pseudo-sink its own name too
  Effects effects;                           // as file and catalogue say
  Effects warned;  // that a server's annotations add: a rule that these would keep from applying applies
};

struct FlowTest {
  enum class Kind : unsigned char { kLabel, kSink, kEffect };
  Kind kind = Kind::kLabel;
  bool negated = false;
  std::string word;  // the label, or the class of sinks
  Effect effect = Effect::kSpend;
  std::size_t offset = 0;  // of the word in the text
};

// Immutable; copies.
class FlowCondition {
 public:
  // Errors: invalid, exhausted; then `fault_offset` is where in `text`, in bytes.
  static Result<FlowCondition> parse(std::string_view text, std::size_t& fault_offset);

  // True for a run with more labels than are kept: what is not known counts as a match.
  bool holds(const Labels& run, const Passage& passage) const;

  // For who checks that there are such labels and sinks.
  const std::vector<FlowTest>& tests() const { return tests_; }

 private:
  bool holds_with(const Labels& run, const Passage& passage, Effects effects) const;

  std::vector<FlowTest> tests_;
  Formula formula_;
};

}  // namespace casemate::policy
