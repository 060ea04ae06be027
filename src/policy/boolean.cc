#include "policy/boolean.h"

#include <utility>

#include "base/limits.h"

namespace casemate::policy {
namespace {

class Parser {
 public:
  Parser(Tokens& tokens, const std::function<Result<std::size_t>()>& test) : tokens_(tokens), test_(test) {}

  Result<void> alternatives() {
    TRY(conjunction());
    while (tokens_.take_if("or")) {
      TRY(conjunction());
      formula_.push_back({Op::Kind::kOr, 0});
    }
    return {};
  }

  Formula take() { return std::move(formula_); }

 private:
  Result<void> conjunction() {
    TRY(unary());
    while (tokens_.take_if("and")) {
      TRY(unary());
      formula_.push_back({Op::Kind::kAnd, 0});
    }
    return {};
  }

  Result<void> unary() {
    if (++depth_ > kConditionDepthMax) {
      return beyond("more than " + std::to_string(kConditionDepthMax) + " levels of `not` and parentheses");
    }
    if (tokens_.take_if("not")) {
      TRY(unary());
      formula_.push_back({Op::Kind::kNot, 0});
    } else if (tokens_.take_if("(")) {
      TRY(alternatives());
      TRY(tokens_.expect(")"));
    } else {
      if (++tests_ > kConditionTestsMax) {
        return beyond("more than " + std::to_string(kConditionTestsMax) + " tests");
      }
      const std::size_t number = TRY(test_());
      formula_.push_back({Op::Kind::kTest, number});
    }
    --depth_;
    return {};
  }

  Result<void> beyond(const std::string& what) {
    (void)tokens_.fail_at(tokens_.peek(), what);  // for its place
    return fail(ErrorCode::kExhausted, what);
  }

  Tokens& tokens_;
  const std::function<Result<std::size_t>()>& test_;
  Formula formula_;
  std::size_t depth_ = 0;
  std::size_t tests_ = 0;
};

}  // namespace

Result<Formula> parse_formula(Tokens& tokens, const std::function<Result<std::size_t>()>& test) {
  Parser parser(tokens, test);
  TRY(parser.alternatives());
  TRY(tokens.expect_end());
  return parser.take();
}

Answer evaluate(const Formula& formula, const std::function<Answer(std::size_t)>& test) {
  std::vector<Answer> stack;
  for (const Op& op : formula) {
    if (op.kind == Op::Kind::kTest) {
      stack.push_back(test(op.test));
      continue;
    }
    Answer last = std::move(stack.back());
    if (op.kind == Op::Kind::kNot) {
      stack.back() = negated(std::move(last));
      continue;
    }
    stack.pop_back();
    Answer first = std::move(stack.back());
    stack.back() = op.kind == Op::Kind::kAnd ? both(std::move(first), std::move(last))
                                             : either(std::move(first), std::move(last));
  }
  return stack.empty() ? Answer::unknown("nothing is asked") : std::move(stack.back());
}

}  // namespace casemate::policy
