// `[[flow]]` and `[budgets]` of a policy file.
#include <algorithm>
#include <set>
#include <utility>

#include "base/limits.h"
#include "policy/file.h"

namespace casemate::policy {
namespace {

constexpr std::int64_t kCallsMax = 1'000'000'000;

// What flow rules may speak of, so that a typing error is no rule that never applies. `untrusted` and
// `private` are the usual labels, and `external` the usual class; everything else is in the file.
std::set<std::string> labels_known(const Rules& rules) {
  std::set<std::string> known = {"untrusted", "private"};
  if (!rules.sources) return known;
  for (const SourceRule& rule : *rules.sources) known.insert(rule.labels.begin(), rule.labels.end());
  return known;
}

std::set<std::string> sinks_known(const Rules& rules) {
  std::set<std::string> known = {"external"};
  for (const PseudoSink sink : kPseudoSinks) known.emplace(word(sink));
  if (!rules.sinks) return known;
  for (const SinkRule& rule : *rules.sinks) known.insert(rule.sink_class);
  return known;
}

std::string list_of(const std::set<std::string>& words) {
  std::string list;
  for (const std::string& one : words) list += (list.empty() ? "" : ", ") + one;
  return list;
}

void check_words(const FlowCondition& condition, const toml::Text& text, const std::set<std::string>& labels,
                 const std::set<std::string>& sinks, toml::Mistakes& mistakes) {
  for (const FlowTest& test : condition.tests()) {
    if (test.kind == FlowTest::Kind::kLabel && labels.count(test.word) == 0) {
      mistakes.add(text.at(test.offset), "no source has the label " + test.word + "; there are " +
                                             list_of(labels) + ", and those of `labels.others`");
    }
    if (test.kind == FlowTest::Kind::kSink && sinks.count(test.word) == 0) {
      mistakes.add(text.at(test.offset),
                   "no sink is of the class " + test.word + "; there are " + list_of(sinks));
    }
  }
}

// "1000 EUR", "250": at most so much.
void read_sum(const toml::Text& text, Budget& budget, toml::Mistakes& mistakes) {
  Tokens tokens(text.text);
  auto amount = parse_amount(tokens);
  auto ended = amount ? tokens.expect_end() : Result<void>();
  if (!amount || !ended) {
    add_fault(mistakes, text, tokens.fault_offset(), amount ? ended.error() : amount.error());
  } else if (amount->from) {
    mistakes.add(text.place, "`currency = \"path\"` says where a call states its currency");
  } else if (amount->number.negative()) {
    mistakes.add(text.place, "a sum is not negative");
  } else if (!budget.sums.emplace(amount->currency, amount->number).second) {
    mistakes.add(text.place, "there are two sums for one currency");
  }
}

std::optional<Path> read_path(toml::Table& table, std::string_view key) {
  const auto text = table.text(key);
  if (!text) return std::nullopt;
  Tokens tokens(text->text);
  auto path = Path::parse(tokens);
  auto ended = path ? tokens.expect_end() : Result<void>();
  if (path && ended) return std::move(*path);
  add_fault(table.mistakes(), *text, tokens.fault_offset(), path ? ended.error() : path.error());
  return std::nullopt;
}

// What all kinds have.
void read_budget(toml::Table& table, Budget& budget) {
  table.need("of");
  table.need("max");
  table.need("beyond");
  budget.place = table.place();
  if (const auto of = table.text("of")) {
    std::size_t offset = 0;
    auto pattern = Pattern::parse(of->text, offset);
    if (!pattern) {
      add_fault(table.mistakes(), *of, offset, pattern.error());
    } else if (pattern->has_condition()) {
      table.mistakes().add(of->place, "a budget is for every call of a capability: no condition here");
    } else {
      budget.of = std::move(*pattern);
    }
    budget.text = table.name() + " of " + of->text;
    budget.place = of->place;
  }
  if (const auto verdict = table.word("beyond", {"ask", "deny"})) budget.beyond = *decision_of(verdict->text);
  if (const auto reason = table.text("reason")) budget.reason = reason->text;
}

void read_counted(toml::Table& table, Budget& budget, std::int64_t max) {
  if (const auto count = table.integer("max", 0, max)) budget.max = static_cast<std::uint64_t>(count->value);
}

void read_sums(toml::Table& table, Budget& budget) {
  budget.currency = read_path(table, "currency");
  if (budget.currency && budget.currency->many()) {
    table.mistakes().add(table.place(), "a currency is one value: no [*] in its path");
  }
  const toml::Node* max = table.value("max");
  if (max == nullptr) return;
  const auto texts = toml::one_or_more_texts(*max, "max (\"100 EUR\")", kPolicyRulesMax, table.mistakes());
  if (!texts) return;
  for (const toml::Text& text : texts->items) read_sum(text, budget, table.mistakes());
  if (texts->items.empty()) table.mistakes().add(texts->place, "max has no sum in it");
  const bool plain = budget.sums.count("") != 0;
  if (plain && (budget.sums.size() > 1 || budget.currency)) {
    table.mistakes().add(texts->place, "either every sum has a currency, or there is one sum without");
  }
  if (!plain && !budget.currency && budget.argument && budget.argument->ends_in_item()) {
    table.mistakes().add(texts->place,
                         "items of a list have no `currency` beside them: `currency` says which path");
  }
}

}  // namespace

void read_flows(toml::Table& file, Rules& rules) {
  const std::set<std::string> labels = [&] {
    std::set<std::string> known = labels_known(rules);
    known.insert(rules.other_labels.begin(), rules.other_labels.end());
    return known;
  }();
  const std::set<std::string> sinks = sinks_known(rules);
  for (toml::Table& table : file.tables("flow", kPolicyRulesMax)) {
    FlowRule rule;
    table.need("when");
    table.need("verdict");
    table.need("reason");
    if (const auto when = table.text("when")) {
      std::size_t offset = 0;
      auto condition = FlowCondition::parse(when->text, offset);
      if (condition) {
        check_words(*condition, *when, labels, sinks, table.mistakes());
        rule.when = std::move(*condition);
      } else {
        add_fault(table.mistakes(), *when, offset, condition.error());
      }
      rule.text = *when;
    }
    // Flow rules only tighten: nothing is allowed by one.
    if (const auto verdict = table.word("verdict", {"ask", "deny"}))
      rule.verdict = *decision_of(verdict->text);
    if (const auto reason = table.text("reason")) rule.reason = reason->text;
    table.finish();
    rules.flows.push_back(std::move(rule));
  }
}

void read_budgets(toml::Table& file, Rules& rules) {
  auto budgets = file.table("budgets");
  if (!budgets) return;
  const auto each = [&](std::string_view key, Budget::Kind kind) {
    for (toml::Table& table : budgets->tables(key, kPolicyRulesMax)) {
      Budget budget;
      budget.kind = kind;
      read_budget(table, budget);
      if (kind != Budget::Kind::kCalls) {
        table.need("argument");
        budget.argument = read_path(table, "argument");
      }
      if (kind == Budget::Kind::kCalls) read_counted(table, budget, kCallsMax);
      if (kind == Budget::Kind::kDistinct) read_counted(table, budget, kDistinctMax);
      if (kind == Budget::Kind::kSum) read_sums(table, budget);
      table.finish();
      rules.budgets.push_back(std::move(budget));
    }
  };
  each("calls", Budget::Kind::kCalls);
  each("distinct", Budget::Kind::kDistinct);
  each("sum", Budget::Kind::kSum);
  budgets->finish();
}

}  // namespace casemate::policy
