#include "policy/judge.h"

#include <algorithm>
#include <utility>

#include "json/utf8.h"

namespace casemate::policy {
namespace {

// Rules and reasons are shown to people: one line each, of bounded length, whatever a file has in its
// strings.
constexpr std::size_t kRuleShownMax = 200;
constexpr std::size_t kReasonMax = 400;
constexpr toml::Place kNowhere{0, 0};

std::string rule_text(const std::string& section, std::string_view text) {
  return section + ": " + json::one_line(text, kRuleShownMax);
}

// An allow rule that covers a call of tier 1 from a box without naming it does not count.
bool opens(const Permission& permission, const Facts& facts, Origin origin) {
  return permission.decision != Decision::kAllow || facts.tier == Tier::kTwo || origin == Origin::kModel ||
         permission.pattern.names(facts.name);
}

// The first permission that applies, in the order deny, ask, allow; else the default.
Ground permission_ground(const Rules& rules, const Facts& facts, const Call& call) {
  for (const Permission& permission : rules.permissions) {
    if (!permission.pattern.covers(facts) || !opens(permission, facts, call.origin)) continue;
    const Answer answer = permission.pattern.holds(call.arguments);
    if (answer.truth == Truth::kFalse) continue;
    const bool unknown = answer.truth == Truth::kUnknown;
    if (unknown && permission.decision == Decision::kAllow) continue;
    const std::string section = "permissions." + std::string(word(permission.decision));
    return Ground{
        permission.decision,
        Ground::Kind::kPermission,
        rule_text(section, permission.text.text),
        permission.text.place,
        unknown ? json::one_line("it counts as a match: " + answer.why, kReasonMax) : "it matches the call",
        unknown};
  }
  if (rules.allows_nothing) {
    return Ground{Decision::kDeny,       Ground::Kind::kDefault,      "permissions.allow: []",
                  *rules.allows_nothing, "the policy allows nothing", false};
  }
  return Ground{rules.unmatched,
                Ground::Kind::kDefault,
                "default: " + std::string(word(rules.unmatched)),
                rules.unmatched_place.value_or(kNowhere),
                "no rule allows it",
                false};
}

void add_flow_grounds(const Rules& rules, const Labels& labels, const Passage& passage,
                      std::vector<Ground>& grounds) {
  for (const FlowRule& rule : rules.flows) {
    if (!rule.when.holds(labels, passage)) continue;
    std::string reason = rule.reason;
    for (const FlowTest& test : rule.when.tests()) {
      const auto found = labels.all().find(test.word);
      if (test.kind != FlowTest::Kind::kLabel || test.negated || found == labels.all().end()) continue;
      reason += " (" + test.word + " by " + found->second + ")";
    }
    grounds.push_back({rule.verdict, Ground::Kind::kFlow, rule_text("flow", rule.text.text), rule.text.place,
                       json::one_line(reason, kReasonMax), false});
  }
}

const Spent& spent_on(const RunState& run, std::size_t budget) {
  static const Spent kNothing;
  return budget < run.spent.size() ? run.spent[budget] : kNothing;
}

Verdict strictest(std::vector<Ground> grounds) {
  std::stable_sort(grounds.begin(), grounds.end(),
                   [](const Ground& a, const Ground& b) { return a.decision > b.decision; });
  const Decision decision = grounds.front().decision;
  return Verdict{decision, std::move(grounds)};
}

}  // namespace

std::string_view word(Ground::Kind kind) {
  switch (kind) {
    case Ground::Kind::kPermission: return "permission";
    case Ground::Kind::kDefault: return "default";
    case Ground::Kind::kTier: return "tier";
    case Ground::Kind::kFlow: return "flow";
    case Ground::Kind::kBudget: return "budget";
    case Ground::Kind::kName: return "name";
  }
  return "";
}

RunState start(const Policy& policy, const Labels& seed) {
  RunState run;
  run.labels = seed;
  run.spent.resize(policy.rules().budgets.size());
  return run;
}

Verdict judge(const Policy& policy, const Capability& capability, const Call& call, const RunState& run) {
  const Rules& rules = policy.rules();
  if (!is_capability_name(capability.name)) {
    return strictest({{Decision::kDeny, Ground::Kind::kName, "names", kNowhere,
                       "no capability can have this name", false}});
  }
  const Facts facts = facts_of(policy, capability);
  std::vector<Ground> grounds;
  grounds.push_back(permission_ground(rules, facts, call));
  if (facts.tier == Tier::kOne && call.origin == Origin::kBox && naming_rule(policy, facts.name) == nullptr) {
    grounds.push_back({Decision::kDeny, Ground::Kind::kTier, "tier 1", kNowhere,
                       "no rule names it, and code in a box may not call it then; " + facts.tier_why, false});
  }
  add_flow_grounds(rules, run.labels, passage_of(policy, facts), grounds);
  for (std::size_t i = 0; i < rules.budgets.size(); ++i) {
    const Budget& budget = rules.budgets[i];
    if (!budget.of.covers(facts)) continue;
    const auto why = beyond(budget, spent_on(run, i), call.arguments);
    if (!why) continue;
    const std::string reason = budget.reason.empty() ? *why : budget.reason + ": " + *why;
    grounds.push_back({budget.beyond, Ground::Kind::kBudget, budget.text, budget.place,
                       json::one_line(reason, kReasonMax), false});
  }
  return strictest(std::move(grounds));
}

Verdict judge_sink(const Policy& policy, PseudoSink sink, const RunState& run) {
  const Rules& rules = policy.rules();
  Passage passage;
  passage.sinks.emplace(word(sink));
  if (rules.sinks) {
    for (const SinkRule& rule : *rules.sinks) {
      if (rule.pseudo == sink) passage.sinks.insert(rule.sink_class);
    }
  }
  std::vector<Ground> grounds;
  add_flow_grounds(rules, run.labels, passage, grounds);
  if (grounds.empty()) {
    grounds.push_back({Decision::kAllow, Ground::Kind::kDefault, "default of ways out: allow", kNowhere,
                       "no flow rule applies", false});
  }
  return strictest(std::move(grounds));
}

void charge(const Policy& policy, const Capability& capability, const Call& call, RunState& run) {
  const auto& budgets = policy.rules().budgets;
  if (budgets.empty()) return;
  run.spent.resize(std::max(run.spent.size(), budgets.size()));
  const Facts facts = facts_of(policy, capability);
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    if (budgets[i].of.covers(facts)) charge(budgets[i], call.arguments, run.spent[i]);
  }
}

void deliver(const Policy& policy, const Capability& capability, RunState& run) {
  run.labels.join(labels_of(policy, capability));
}

}  // namespace casemate::policy
