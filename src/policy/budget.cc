#include "policy/budget.h"

#include <utility>

#include "base/limits.h"
#include "base/result.h"
#include "json/utf8.h"

namespace casemate::policy {
namespace {

constexpr std::size_t kShownMax = 40;

struct Charge {
  std::string currency;
  json::Decimal number;
};

Result<std::vector<std::string>> values_of(const Budget& budget, const json::Value& arguments) {
  std::vector<std::string> values;
  for (const Reached& reached : budget.argument->reach(arguments)) {
    if (reached.end != Reached::End::kThere) return fail(ErrorCode::kInvalid, reached.why);
    const auto text = reached.value->as_string();
    if (!text) {
      return fail(ErrorCode::kInvalid, "`" + budget.argument->text() + "` should be a string, is " +
                                           json::kind_name(reached.value->kind()));
    }
    if (text->size() > kDistinctValueMax) {
      return fail(ErrorCode::kInvalid, "`" + budget.argument->text() + "` has more than " +
                                           std::to_string(kDistinctValueMax) + " bytes");
    }
    values.emplace_back(*text);
  }
  return values;
}

Result<std::string> currency_of(const Budget& budget, const json::Value& arguments,
                                const json::Value* holder) {
  if (budget.sums.size() == 1 && budget.sums.begin()->first.empty()) return std::string();
  const json::Value* stated = holder == nullptr ? nullptr : holder->find("currency");
  std::vector<Reached> reached;
  if (budget.currency) {
    reached = budget.currency->reach(arguments);
    stated = reached.front().value;
  }
  const std::string where = budget.currency ? budget.currency->text() : "currency";
  if (stated == nullptr) return fail(ErrorCode::kInvalid, "`" + where + "` is missing");
  const auto text = stated->as_string();
  if (!text) return fail(ErrorCode::kInvalid, "`" + where + "` should be a string");
  if (budget.sums.find(*text) == budget.sums.end()) {
    return fail(ErrorCode::kInvalid, "there is no sum for " + json::one_line(*text, kShownMax));
  }
  return std::string(*text);
}

Result<std::vector<Charge>> charges_of(const Budget& budget, const json::Value& arguments) {
  std::vector<Charge> charges;
  for (const Reached& reached : budget.argument->reach(arguments)) {
    if (reached.end != Reached::End::kThere) return fail(ErrorCode::kInvalid, reached.why);
    auto number = json::Decimal::of(*reached.value);
    if (!number) {
      return fail(ErrorCode::kInvalid,
                  "`" + budget.argument->text() + "` is no number: " + number.error().message);
    }
    if (number->negative()) return fail(ErrorCode::kInvalid, "`" + budget.argument->text() + "` is negative");
    std::string currency = TRY(currency_of(budget, arguments, reached.holder));
    charges.push_back({std::move(currency), std::move(*number)});
  }
  return charges;
}

void add(const std::vector<Charge>& charges, Spent& spent) {
  for (const Charge& one : charges) {
    json::Decimal& sum = spent.sums[one.currency];
    auto total = json::Decimal::sum(sum, one.number);
    if (total) {
      sum = std::move(*total);
    } else {
      spent.beyond = true;
    }
  }
}

std::optional<std::string> beyond_distinct(const Budget& budget, const Spent& spent,
                                           const json::Value& arguments) {
  const auto values = values_of(budget, arguments);
  if (!values) return values.error().message;
  std::set<std::string_view> fresh;
  for (const std::string& value : *values) {
    if (spent.seen.find(value) == spent.seen.end()) fresh.insert(value);
  }
  if (fresh.empty() || spent.seen.size() + fresh.size() <= budget.max) return std::nullopt;
  return "more than " + std::to_string(budget.max) + " different values of `" + budget.argument->text() +
         "` in this run";
}

std::optional<std::string> beyond_sum(const Budget& budget, const Spent& spent,
                                      const json::Value& arguments) {
  const auto charges = charges_of(budget, arguments);
  if (!charges) return charges.error().message;
  Spent then = spent;
  add(*charges, then);
  if (then.beyond) return "the sum of `" + budget.argument->text() + "` is beyond every bound";
  for (const Charge& one : *charges) {
    const json::Decimal& max = budget.sums.find(one.currency)->second;
    if (then.sums[one.currency] <= max) continue;
    return "`" + budget.argument->text() + "` would sum to " +
           json::one_line(then.sums[one.currency].text(), kShownMax) + " in this run, of " + max.text() +
           (one.currency.empty() ? "" : " " + one.currency);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> beyond(const Budget& budget, const Spent& spent, const json::Value& arguments) {
  switch (budget.kind) {
    case Budget::Kind::kCalls:
      if (spent.calls < budget.max) return std::nullopt;
      return "more than " + std::to_string(budget.max) + " calls in this run";
    case Budget::Kind::kDistinct: return beyond_distinct(budget, spent, arguments);
    case Budget::Kind::kSum: return beyond_sum(budget, spent, arguments);
  }
  return "unknown";
}

void charge(const Budget& budget, const json::Value& arguments, Spent& spent) {
  ++spent.calls;
  if (budget.kind == Budget::Kind::kDistinct) {
    const auto values = values_of(budget, arguments);
    if (!values) return;
    for (const std::string& value : *values) {
      // Beyond that many, every new value is asked about again.
      if (spent.seen.size() < kDistinctMax) spent.seen.insert(value);
    }
  } else if (budget.kind == Budget::Kind::kSum) {
    const auto charges = charges_of(budget, arguments);
    if (charges) add(*charges, spent);
  }
}

}  // namespace casemate::policy
