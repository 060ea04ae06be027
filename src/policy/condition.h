// Conditions on the arguments of a call: what stands in the parentheses of `payment.send(amount > 100 EUR)`.
//
//     test       = "present" "(" path ")"
//                | [ "any" | "all" ] path comparison
//     comparison = ( "<" | "<=" | ">" | ">=" ) amount
//                | ( "==" | "!=" ) ( amount | string | "true" | "false" | "null" )
//                | ( "~" | "!~" ) glob
//                | [ "not" ] "in" "[" literal { "," literal } "]"       literals: all strings or all numbers
//     amount     = number [ currency [ "from" path ] ]
//
// with `and`, `or`, `not` and parentheses (boolean.h). docs/policy.md says what each means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/decimal.h"
#include "json/value.h"
#include "policy/boolean.h"
#include "policy/glob.h"
#include "policy/path.h"
#include "policy/truth.h"

namespace casemate::policy {

// `100 EUR from payee.currency`.
struct Amount {
  json::Decimal number;
  std::string currency;      // "EUR"; empty: none is stated, and none is asked for
  std::optional<Path> from;  // where the call says its currency; none: `currency` beside the amount
};
// Reads one; `100`, `100 EUR`. With a currency and no `from`, the caller decides where the call says it.
// Errors: invalid, exhausted (Decimal).
Result<Amount> parse_amount(Tokens& tokens);
// Three capital letters, as of ISO 4217.
bool is_currency(std::string_view text);

// Does the call state the currency of `amount`? Unknown when it states none, or another one: amounts of two
// currencies cannot be compared. `holder` is the object that holds the amount.
Answer same_currency(const Amount& amount, const json::Value& arguments, const json::Value* holder);

// One test. Immutable; copies.
struct Test {
  enum class Kind : unsigned char {
    kPresent,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kGlob,
    kIn
  };
  enum class Each : unsigned char { kOne, kAny, kAll };
  using Literal = std::variant<std::monostate, bool, std::string, json::Decimal>;  // the first is null

  Kind kind = Kind::kPresent;
  Each each = Each::kOne;
  bool negated = false;  // `!=`, `!~`, `not in`: of each item, before `any` and `all` look at it
  Path path;
  std::vector<Literal> literals;  // kIn: all of it; kEqual: one, unless it is an amount
  std::optional<Amount> amount;   // of a comparison with a number
  std::optional<Glob> glob;

  Answer answer(const json::Value& arguments) const;
};

// Immutable; copies.
class Condition {
 public:
  // Errors: invalid, exhausted (a bound of base/limits.h); then `fault_offset` is where, in bytes from the
  // beginning of `text` plus `base`.
  static Result<Condition> parse(std::string_view text, std::size_t base, std::size_t& fault_offset);

  // Total; takes time linear in the arguments for each test. `arguments` should be an object; else everything
  // is unknown.
  Answer evaluate(const json::Value& arguments) const;

 private:
  std::vector<Test> tests_;
  Formula formula_;
};

}  // namespace casemate::policy
