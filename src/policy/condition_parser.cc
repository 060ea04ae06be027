// The grammar of conditions: condition.h shows it.
#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "policy/condition.h"

namespace casemate::policy {
namespace {

constexpr std::string_view kComparisons = "<, <=, >, >=, ==, !=, ~, !~ or `in`";

bool is_literal(const Token& token) {
  return token.kind == Token::Kind::kString || token.kind == Token::Kind::kNumber || token.is("true") ||
         token.is("false") || token.is("null");
}

Result<json::Decimal> number_of(Tokens& tokens, const Token& token) {
  auto number = json::Decimal::parse(token.raw);
  if (number) return number;
  (void)tokens.fail_at(token, "");  // for its place
  return tl::unexpected(number.error());
}

class TestParser {
 public:
  explicit TestParser(Tokens& tokens) : tokens_(tokens) {}

  Result<Test> parse() {
    Test test;
    const Token begin = tokens_.peek();
    if (tokens_.take_if("present")) {
      TRY(tokens_.expect("("));
      test.path = TRY(Path::parse(tokens_));
      TRY(tokens_.expect(")"));
      return test;
    }
    if (tokens_.take_if("any")) test.each = Test::Each::kAny;
    if (test.each == Test::Each::kOne && tokens_.take_if("all")) test.each = Test::Each::kAll;
    for (const char* word : {"and", "or", "not", "in", "from", "true", "false", "null", "any", "all"}) {
      if (!tokens_.peek().is(word)) continue;
      return tokens_.fail_at(tokens_.peek(),
                             "the name of an argument is due here; put one that is a word of "
                             "conditions in quotes");
    }
    test.path = TRY(Path::parse(tokens_));
    if (test.path.many() && test.each == Test::Each::kOne) {
      return tokens_.fail_at(begin, "a path with [*] needs `any` or `all` before it");
    }
    if (!test.path.many() && test.each != Test::Each::kOne) {
      return tokens_.fail_at(begin, "`any` and `all` go with a path that has [*]");
    }
    TRY(comparison(test));
    return test;
  }

 private:
  Result<void> comparison(Test& test) {
    const Token sign = tokens_.take();
    if (sign.is("not") || sign.is("in")) {
      test.negated = sign.is("not");
      if (test.negated) TRY(tokens_.expect("in"));
      test.kind = Test::Kind::kIn;
      return list(test);
    }
    if (sign.is("~") || sign.is("!~")) {
      test.kind = Test::Kind::kGlob;
      test.negated = sign.is("!~");
      return glob(test);
    }
    if (sign.is("==") || sign.is("!=")) {
      test.kind = Test::Kind::kEqual;
      test.negated = sign.is("!=");
      if (tokens_.peek().kind == Token::Kind::kNumber) return amount(test);
      test.literals.push_back(TRY(literal()));
      return {};
    }
    if (sign.is("<")) {
      test.kind = Test::Kind::kLess;
    } else if (sign.is("<=")) {
      test.kind = Test::Kind::kLessEqual;
    } else if (sign.is(">")) {
      test.kind = Test::Kind::kGreater;
    } else if (sign.is(">=")) {
      test.kind = Test::Kind::kGreaterEqual;
    } else {
      return tokens_.fail_at(sign, "a comparison is due here: " + std::string(kComparisons));
    }
    return amount(test);
  }

  Result<void> amount(Test& test) {
    const Token begin = tokens_.peek();
    test.amount = TRY(parse_amount(tokens_));
    if (!test.amount->currency.empty() && !test.amount->from && test.path.ends_in_item()) {
      return tokens_.fail_at(begin, "items of a list have no `currency` beside them: say `from` which path");
    }
    return {};
  }

  Result<void> glob(Test& test) {
    const Token token = tokens_.take();
    if (token.kind != Token::Kind::kString) return tokens_.fail_at(token, "a pattern in quotes is due here");
    auto parsed = Glob::parse(token.text);
    if (!parsed) {
      (void)tokens_.fail_at(token, "");  // for its place
      return tl::unexpected(parsed.error());
    }
    test.glob = std::move(*parsed);
    return {};
  }

  Result<Test::Literal> literal() {
    const Token token = tokens_.take();
    if (!is_literal(token)) {
      return tokens_.fail_at(token, "a number, a string in quotes, true, false or null is due here");
    }
    if (token.kind == Token::Kind::kString) return Test::Literal(token.text);
    if (token.kind == Token::Kind::kNumber) return Test::Literal(TRY(number_of(tokens_, token)));
    if (token.is("null")) return Test::Literal(std::monostate{});
    return Test::Literal(token.is("true"));
  }

  Result<void> list(Test& test) {
    TRY(tokens_.expect("["));
    do {
      const Token token = tokens_.peek();
      if (token.kind != Token::Kind::kString && token.kind != Token::Kind::kNumber) {
        return tokens_.fail_at(token, "a string or a number is due here");
      }
      if (test.literals.size() == kConditionListMax) {
        return tokens_.fail_at(token, "a list has at most " + std::to_string(kConditionListMax) + " items");
      }
      test.literals.push_back(TRY(literal()));
      if (test.literals.back().index() != test.literals.front().index()) {
        return tokens_.fail_at(token, "a list has either strings or numbers");
      }
    } while (tokens_.take_if(","));
    return tokens_.expect("]");
  }

  Tokens& tokens_;
};

}  // namespace

bool is_currency(std::string_view text) {
  return text.size() == 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

Result<Amount> parse_amount(Tokens& tokens) {
  Amount amount;
  const Token number = tokens.take();
  if (number.kind != Token::Kind::kNumber) return tokens.fail_at(number, "a number is due here");
  amount.number = TRY(number_of(tokens, number));
  const Token& next = tokens.peek();
  if (next.kind != Token::Kind::kName || next.is("and") || next.is("or")) return amount;
  if (!is_currency(next.raw)) {
    return tokens.fail_at(next, "a currency is three capital letters");
  }
  amount.currency = tokens.take().raw;
  if (!tokens.take_if("from")) return amount;
  const Token begin = tokens.peek();
  amount.from = TRY(Path::parse(tokens));
  if (amount.from->many()) return tokens.fail_at(begin, "a currency is one value: no [*] here");
  return amount;
}

Result<Condition> Condition::parse(std::string_view text, std::size_t base, std::size_t& fault_offset) {
  fault_offset = base;
  if (text.size() > kPatternMax) {
    return fail(ErrorCode::kExhausted, "a condition has more than " + std::to_string(kPatternMax) + " bytes");
  }
  Condition condition;
  Tokens tokens(text, base);
  auto formula = parse_formula(tokens, [&]() -> Result<std::size_t> {
    condition.tests_.push_back(TRY(TestParser(tokens).parse()));
    return condition.tests_.size() - 1;
  });
  if (!formula) {
    fault_offset = tokens.fault_offset();
    return tl::unexpected(formula.error());
  }
  condition.formula_ = std::move(*formula);
  return condition;
}

}  // namespace casemate::policy
