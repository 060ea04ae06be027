// `and`, `or`, `not` and parentheses over tests of some kind: what conditions and flow rules share.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "policy/tokens.h"
#include "policy/truth.h"

namespace casemate::policy {

// A program for a stack: a test is put on it, `not` takes one, `and` and `or` take two. So nothing recurses
// when it is evaluated or destroyed.
struct Op {
  enum class Kind : unsigned char { kTest, kNot, kAnd, kOr };
  Kind kind = Kind::kTest;
  std::size_t test = 0;  // of kTest: its number
};
using Formula = std::vector<Op>;

// Reads a formula to the end of the tokens; `test` reads one test and answers its number. `not` binds closer
// than `and`, which binds closer than `or`. Errors: those of `test`; invalid; exhausted (more than
// kConditionTestsMax tests or kConditionDepthMax levels).
Result<Formula> parse_formula(Tokens& tokens, const std::function<Result<std::size_t>()>& test);

// What the formula says, with what each test says. Every test is asked. An empty formula says nothing:
// unknown.
Answer evaluate(const Formula& formula, const std::function<Answer(std::size_t)>& test);

}  // namespace casemate::policy
