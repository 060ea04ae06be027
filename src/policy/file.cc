// `default`, `[permissions]`, `[labels]`, `[effects]` and `[tiers]` of a policy file.
#include "policy/file.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace casemate::policy {
namespace {

constexpr const char* kLabelIs = "a label is a word of small letters, digits, \"_\" and \"-\"";

std::optional<Glob> read_glob(const toml::Text& key, toml::Mistakes& mistakes) {
  auto glob = parse_name_glob(key.text);
  if (glob) return std::move(*glob);
  add_fault(mistakes, key, 0, glob.error());
  return std::nullopt;
}

// The entries of a table whose keys are data.
const std::vector<toml::Entry>& entries_of(toml::Table& table) {
  static const std::vector<toml::Entry> kNone;
  const auto& entries = table.entries();
  if (entries.size() <= kPolicyRulesMax) return entries;
  table.mistakes().add(table.place(),
                       table.name() + " has more than " + std::to_string(kPolicyRulesMax) + " rows");
  return kNone;
}

void read_permission_list(toml::Table& table, Decision decision, Rules& rules) {
  const auto list = table.texts(word(decision), kPolicyRulesMax);
  if (!list) return;
  if (decision == Decision::kAllow && list->items.empty()) rules.allows_nothing = list->place;
  for (const toml::Text& text : list->items) {
    std::size_t offset = 0;
    auto pattern = Pattern::parse(text.text, offset);
    if (!pattern) {
      add_fault(table.mistakes(), text, offset, pattern.error());
    } else if (decision == Decision::kAllow && pattern->has_class()) {
      table.mistakes().add(text.place,
                           "a class cannot allow, only deny or ask: servers have a say in classes");
    } else {
      rules.permissions.push_back({decision, std::move(*pattern), text});
    }
  }
}

void read_permissions(toml::Table& file, Rules& rules) {
  auto table = file.table("permissions");
  if (!table) return;
  for (const Decision decision : {Decision::kDeny, Decision::kAsk, Decision::kAllow}) {
    read_permission_list(*table, decision, rules);
  }
  table->finish();
}

void read_sources(toml::Table& labels, Rules& rules) {
  auto table = labels.table("sources");
  if (!table) return;
  rules.sources.emplace();
  for (const toml::Entry& entry : entries_of(*table)) {
    const auto glob = read_glob(entry.key, table->mistakes());
    const auto words = toml::one_or_more_texts(entry.value, table->name(), kLabelsMax, table->mistakes());
    if (!glob || !words) continue;
    SourceRule rule{*glob, {}, entry.key};
    for (const toml::Text& text : words->items) {
      if (is_label(text.text)) {
        rule.labels.push_back(text.text);
      } else {
        table->mistakes().add(text.place, kLabelIs);
      }
    }
    rules.sources->push_back(std::move(rule));
  }
}

void read_sinks(toml::Table& labels, Rules& rules) {
  auto table = labels.table("sinks");
  if (!table) return;
  rules.sinks.emplace();
  for (const toml::Entry& entry : entries_of(*table)) {
    SinkRule rule;
    rule.key = entry.key;
    rule.pseudo = pseudo_sink_of(entry.key.text);
    if (!rule.pseudo) {
      auto glob = read_glob(entry.key, table->mistakes());
      if (!glob) continue;
      rule.glob = std::move(*glob);
    }
    if (entry.value.kind != toml::Node::Kind::kString || !is_label(entry.value.text.text)) {
      table->mistakes().add(entry.value.place,
                            "a sink's class is a word of small letters, digits, \"_\" and \"-\"");
      continue;
    }
    rule.sink_class = entry.value.text.text;
    rules.sinks->push_back(std::move(rule));
  }
}

void read_labels(toml::Table& file, Rules& rules) {
  auto table = file.table("labels");
  if (!table) return;
  read_sources(*table, rules);
  read_sinks(*table, rules);
  if (const auto others = table->texts("others", kLabelsMax)) {
    for (const toml::Text& text : others->items) {
      if (!is_label(text.text)) table->mistakes().add(text.place, kLabelIs);
      rules.other_labels.push_back(text.text);
    }
  }
  table->finish();
}

void read_effects(toml::Table& file, Rules& rules) {
  auto table = file.table("effects");
  if (!table) return;
  for (const toml::Entry& entry : entries_of(*table)) {
    const auto glob = read_glob(entry.key, table->mistakes());
    const auto words =
        toml::one_or_more_texts(entry.value, table->name(), kEffects.size(), table->mistakes());
    if (!glob || !words) continue;
    EffectRule rule{*glob, {}, entry.key};
    for (const toml::Text& text : words->items) {
      if (const auto effect = effect_of(text.text)) {
        rule.effects.add(*effect);
      } else {
        table->mistakes().add(text.place, "an effect is spend, message, external, irreversible or regulated");
      }
    }
    rules.effects.push_back(std::move(rule));
  }
}

// `{ tier = 2, override = "why" }`
void read_override(const toml::Entry& entry, TierRule& rule, toml::Mistakes& mistakes) {
  toml::Table table(entry.value, "tiers", mistakes);
  const auto tier = table.integer("tier", 1, 2);
  const auto reason = table.text("override");
  table.finish();
  if (!tier || !reason) {
    mistakes.add(entry.value.place, "a tier is 1, 2 or { tier = 2, override = \"why\" }");
    return;
  }
  rule.tier = Tier(tier->value);
  rule.reason = reason->text;
  if (rule.tier == Tier::kOne) mistakes.add(tier->place, "nothing has to be overridden for tier 1");
  if (reason->text.find_first_not_of(" \t\n") == std::string::npos) {
    mistakes.add(reason->place, "an override says why");
  }
  if (!rule.glob.is_literal())
    mistakes.add(entry.key.place, "an override names one capability: no wildcards");
}

void read_tiers(toml::Table& file, Rules& rules) {
  auto table = file.table("tiers");
  if (!table) return;
  for (const toml::Entry& entry : entries_of(*table)) {
    const auto glob = read_glob(entry.key, table->mistakes());
    if (!glob) continue;
    TierRule rule{*glob, Tier::kOne, {}, entry.key};
    if (entry.value.kind == toml::Node::Kind::kTable) {
      read_override(entry, rule, table->mistakes());
    } else if (entry.value.kind == toml::Node::Kind::kInteger && entry.value.integer >= 1 &&
               entry.value.integer <= 2) {
      rule.tier = Tier(entry.value.integer);
    } else {
      table->mistakes().add(entry.value.place, "a tier is 1, 2 or { tier = 2, override = \"why\" }");
      continue;
    }
    rules.tiers.push_back(std::move(rule));
  }
}

// Tier 2 by a plain word for what the file itself says has an effect.
void check_tiers(const Rules& rules, toml::Mistakes& mistakes) {
  for (const TierRule& tier : rules.tiers) {
    if (tier.tier == Tier::kOne || !tier.reason.empty()) continue;
    for (const EffectRule& effect : rules.effects) {
      const bool same = tier.key.text == effect.key.text ||
                        (tier.glob.is_literal() && effect.glob.matches(tier.key.text)) ||
                        (effect.glob.is_literal() && tier.glob.matches(effect.key.text));
      if (!same || effect.effects.empty()) continue;
      mistakes.add(tier.key.place, "line " + std::to_string(effect.key.place.line) +
                                       " says that it has an effect of tier 1; tier 2 then needs "
                                       "{ tier = 2, override = \"why\" }");
      break;
    }
  }
}

}  // namespace

void add_fault(toml::Mistakes& mistakes, const toml::Text& text, std::size_t offset, const Error& error) {
  mistakes.add(text.at(offset), error.message);
}

Rules read_rules(toml::Table& file, std::vector<FileTest>& tests) {
  Rules rules;
  if (const auto unmatched = file.word("default", {"ask", "deny"})) {
    rules.unmatched = unmatched->text == "deny" ? Decision::kDeny : Decision::kAsk;
    rules.unmatched_place = unmatched->place;
  }
  read_permissions(file, rules);
  read_labels(file, rules);
  read_effects(file, rules);
  read_tiers(file, rules);
  check_tiers(rules, file.mistakes());
  read_flows(file, rules);
  read_budgets(file, rules);
  tests = read_tests(file);
  file.finish();
  return rules;
}

}  // namespace casemate::policy
