#include "policy/condition.h"

#include <algorithm>
#include <compare>
#include <utility>

namespace casemate::policy {
namespace {

// `what` should be such, and is that.
Answer other_kind(const Path& path, const char* wanted, const json::Value& value) {
  return Answer::unknown("`" + path.text() + "` should be " + wanted + ", is " +
                         json::kind_name(value.kind()));
}

Answer equals(const Test::Literal& literal, const json::Value& value, const Path& path) {
  if (std::holds_alternative<std::monostate>(literal)) {
    return Answer::of(value.kind() == json::Value::Kind::kNull);
  }
  if (const bool* truth = std::get_if<bool>(&literal)) {
    const auto found = value.as_boolean();
    return found ? Answer::of(*found == *truth) : other_kind(path, "a boolean", value);
  }
  if (const std::string* text = std::get_if<std::string>(&literal)) {
    const auto found = value.as_string();
    return found ? Answer::of(*found == *text) : other_kind(path, "a string", value);
  }
  const auto found = json::Decimal::of(value);
  if (!found) return Answer::unknown("`" + path.text() + "` is no number: " + found.error().message);
  return Answer::of(*found == std::get<json::Decimal>(literal));
}

bool holds(Test::Kind kind, std::strong_ordering order) {
  switch (kind) {
    case Test::Kind::kLess: return order < 0;
    case Test::Kind::kLessEqual: return order <= 0;
    case Test::Kind::kGreater: return order > 0;
    case Test::Kind::kGreaterEqual: return order >= 0;
    default: return order == 0;
  }
}

Answer answer_for(const Test& test, const Reached& reached, const json::Value& arguments) {
  if (reached.end != Reached::End::kThere) return Answer::unknown(reached.why);
  const json::Value& value = *reached.value;
  if (test.kind == Test::Kind::kGlob) {
    const auto text = value.as_string();
    return text ? Answer::of(test.glob->matches(*text)) : other_kind(test.path, "a string", value);
  }
  if (test.amount) {
    const auto number = json::Decimal::of(value);
    if (!number) return Answer::unknown("`" + test.path.text() + "` is no number: " + number.error().message);
    Answer currency = same_currency(*test.amount, arguments, reached.holder);
    if (currency.truth != Truth::kTrue) return currency;
    return Answer::of(holds(test.kind, *number <=> test.amount->number));
  }
  Answer any = Answer::of(false);
  for (const Test::Literal& literal : test.literals) {
    any = either(std::move(any), equals(literal, value, test.path));
  }
  return any;
}

// `present`: the one test that a missing argument decides. What is of another kind than the path needs
// decides nothing.
Answer present(const std::vector<Reached>& ends) {
  Answer any = Answer::of(false);
  for (const Reached& reached : ends) {
    const bool other = reached.end == Reached::End::kOther;
    any = either(std::move(any),
                 other ? Answer::unknown(reached.why) : Answer::of(reached.end == Reached::End::kThere));
  }
  return any;
}

}  // namespace

Answer same_currency(const Amount& amount, const json::Value& arguments, const json::Value* holder) {
  if (amount.currency.empty()) return Answer::of(true);
  const json::Value* stated = holder == nullptr ? nullptr : holder->find("currency");
  std::string where = "currency";
  std::vector<Reached> reached;
  if (amount.from) {
    where = amount.from->text();
    reached = amount.from->reach(arguments);
    stated = reached.front().value;
  }
  if (stated == nullptr) return Answer::unknown("`" + where + "` is missing");
  const auto text = stated->as_string();
  if (!text)
    return Answer::unknown("`" + where + "` should be a string, is " + json::kind_name(stated->kind()));
  if (*text != amount.currency) return Answer::unknown("`" + where + "` is not " + amount.currency);
  return Answer::of(true);
}

Answer Test::answer(const json::Value& arguments) const {
  const std::vector<Reached> ends = path.reach(arguments);
  if (kind == Kind::kPresent) return present(ends);
  const auto one = [&](const Reached& reached) {
    Answer answer = answer_for(*this, reached, arguments);
    return negated ? policy::negated(std::move(answer)) : answer;
  };
  Answer result = one(ends.front());
  for (std::size_t i = 1; i < ends.size(); ++i) {
    Answer next = one(ends[i]);
    result = each == Each::kAll ? both(std::move(result), std::move(next))
                                : either(std::move(result), std::move(next));
  }
  return result;
}

Answer Condition::evaluate(const json::Value& arguments) const {
  return policy::evaluate(formula_, [&](std::size_t test) { return tests_[test].answer(arguments); });
}

}  // namespace casemate::policy
