#include "policy/tiers.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/limits.h"
#include "policy/file.h"

namespace casemate::policy {
namespace {

struct Hint {
  std::string_view verb;
  Effect effect;
};
// What the verb of a name suggests. A guess: it is shown, and nothing is decided by it.
constexpr std::array kHints = {
    Hint{"send", Effect::kMessage},        Hint{"reply", Effect::kMessage},
    Hint{"post", Effect::kMessage},        Hint{"notify", Effect::kMessage},
    Hint{"publish", Effect::kExternal},    Hint{"upload", Effect::kExternal},
    Hint{"share", Effect::kExternal},      Hint{"deploy", Effect::kExternal},
    Hint{"pay", Effect::kSpend},           Hint{"payment", Effect::kSpend},
    Hint{"transfer", Effect::kSpend},      Hint{"charge", Effect::kSpend},
    Hint{"refund", Effect::kSpend},        Hint{"buy", Effect::kSpend},
    Hint{"order", Effect::kSpend},         Hint{"delete", Effect::kIrreversible},
    Hint{"remove", Effect::kIrreversible}, Hint{"drop", Effect::kIrreversible},
    Hint{"purge", Effect::kIrreversible},  Hint{"merge", Effect::kIrreversible},
};

// Is `verb` one of the words that a name is made of? Words end at anything but a small letter.
bool has_word(std::string_view name, std::string_view verb) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  for (std::size_t at = name.find(verb); at != std::string_view::npos; at = name.find(verb, at + 1)) {
    const std::size_t end = at + verb.size();
    if ((at == 0 || !is_small(name[at - 1])) && (end == name.size() || !is_small(name[end]))) return true;
  }
  return false;
}

std::string proposal_for(const Facts& facts) {
  for (const Hint& hint : kHints) {
    if (facts.tier == Tier::kOne || facts.tier_why.starts_with("an override")) break;
    if (!has_word(facts.name, hint.verb)) continue;
    return "\"" + facts.name + "\" = [\"" + std::string(word(hint.effect)) +
           "\"] in [effects]: its name has `" + std::string(hint.verb) + "`";
  }
  if (facts.tier == Tier::kTwo && facts.annotations.has(Annotation::kWrites)) {
    return "say in [effects] what it changes: its server says that it writes";
  }
  return {};
}

void collect(const Rules& rules, std::map<std::string, Capability, std::less<>>& known) {
  const auto add = [&](const std::string& name) {
    if (is_capability_name(name)) known.try_emplace(name, Capability{name, {}, {}, Tier::kTwo, {}});
  };
  for (const Permission& permission : rules.permissions) {
    if (permission.pattern.named()) add(permission.pattern.name());
  }
  for (const EffectRule& rule : rules.effects) add(rule.key.text);
  for (const TierRule& rule : rules.tiers) add(rule.key.text);
  if (rules.sources) {
    for (const SourceRule& rule : *rules.sources) add(rule.key.text);
  }
  if (rules.sinks) {
    for (const SinkRule& rule : *rules.sinks) add(rule.key.text);
  }
}

}  // namespace

std::vector<TierRow> tier_rows(const Policy& policy, const std::vector<Capability>& catalogue) {
  std::map<std::string, Capability, std::less<>> known;
  for (const Capability& capability : catalogue) known.insert_or_assign(capability.name, capability);
  collect(policy.rules(), known);
  std::vector<TierRow> rows;
  for (const auto& [name, capability] : known) {
    TierRow row;
    row.facts = facts_of(policy, capability);
    row.named_by = naming_rule(policy, name);
    row.proposal = proposal_for(row.facts);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TierRow& a, const TierRow& b) { return a.facts.tier < b.facts.tier; });
  return rows;
}

std::vector<toml::Mistake> tier_warnings(const Policy& policy, const std::vector<TierRow>& rows) {
  toml::Mistakes warnings;
  const auto ones = static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const TierRow& row) { return row.facts.tier == Tier::kOne; }));
  if (ones > kTierOneAdvised) {
    warnings.add({}, std::to_string(ones) + " tier 1 tools; a model chooses badly among more than " +
                         std::to_string(kTierOneAdvised));
  }
  for (const Permission& permission : policy.rules().permissions) {
    if (permission.decision != Decision::kAllow || permission.pattern.named()) continue;
    for (const TierRow& row : rows) {
      if (row.facts.tier != Tier::kOne || !permission.pattern.covers(row.facts)) continue;
      warnings.add(permission.text.place,
                   "this covers " + row.facts.name +
                       ", which is tier 1, and does not open it to code in a box: name it");
    }
  }
  return warnings.list();
}

std::vector<toml::Mistake> warnings_of(const Policy& policy) {
  return tier_warnings(policy, tier_rows(policy, {}));
}

}  // namespace casemate::policy
