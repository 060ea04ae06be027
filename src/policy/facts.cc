// What file and catalogue together say of a capability: effects, tier, labels, sinks.
#include <algorithm>

#include "json/utf8.h"
#include "policy/judge.h"

namespace casemate::policy {
namespace {

constexpr std::string_view kUntrusted = "untrusted";
constexpr std::string_view kExternal = "external";
constexpr std::size_t kReasonMax = 200;  // bytes that are shown of an override's reason

std::string line_of(const toml::Text& key) { return "line " + std::to_string(key.place.line); }

void settle_tier(const Rules& rules, Facts& facts, Tier declared) {
  const TierRule* one = nullptr;
  for (const TierRule& rule : rules.tiers) {
    if (!rule.glob.matches(facts.name)) continue;
    if (!rule.reason.empty()) {
      facts.tier = Tier::kTwo;
      facts.tier_why =
          "an override names it (" + line_of(rule.key) + "): " + json::one_line(rule.reason, kReasonMax);
      return;
    }
    if (rule.tier == Tier::kOne && one == nullptr) one = &rule;
  }
  for (const Effect effect : kEffects) {
    if (!facts.effects.has(effect)) continue;
    facts.tier = Tier::kOne;
    facts.tier_why = "it has the effect " + std::string(word(effect));
    return;
  }
  if (one == nullptr && declared == Tier::kTwo) {
    facts.tier_why = "it has none of the effects that make tier 1";
    return;
  }
  facts.tier = Tier::kOne;
  facts.tier_why = one != nullptr ? "the policy declares it so (" + line_of(one->key) + ")"
                                  : "the catalogue declares it so";
}

}  // namespace

Facts facts_of(const Policy& policy, const Capability& capability) {
  Facts facts;
  facts.name = capability.name;
  facts.effects = capability.effects;
  facts.annotations = capability.annotations;
  for (const EffectRule& rule : policy.rules().effects) {
    if (rule.glob.matches(capability.name)) facts.effects.add(rule.effects);
  }
  // A server that says so of its own tool is believed: it can only tighten.
  if (capability.annotations.has(Annotation::kDestructive) && !facts.effects.has(Effect::kIrreversible)) {
    facts.warned.add(Effect::kIrreversible);
    facts.effects.add(Effect::kIrreversible);
  }
  settle_tier(policy.rules(), facts, capability.tier);
  return facts;
}

Labels labels_of(const Policy& policy, const Capability& capability) {
  Labels labels;
  for (const std::string& label : capability.labels) labels.add(label, capability.name);
  if (!policy.rules().sources) labels.add(kUntrusted, capability.name);
  if (policy.rules().sources) {
    for (const SourceRule& rule : *policy.rules().sources) {
      if (!rule.glob.matches(capability.name)) continue;
      for (const std::string& label : rule.labels) labels.add(label, capability.name);
    }
  }
  return labels;
}

Passage passage_of(const Policy& policy, const Facts& facts) {
  Passage passage;
  for (const Effect effect : kEffects) {
    if (facts.effects.has(effect) && !facts.warned.has(effect)) passage.effects.add(effect);
  }
  passage.warned = facts.warned;
  if (policy.rules().sinks) {
    for (const SinkRule& rule : *policy.rules().sinks) {
      if (!rule.pseudo && rule.glob.matches(facts.name)) passage.sinks.insert(rule.sink_class);
    }
  }
  // Where nobody said what it is: what acts on the outside is external, and all is if nobody said anything.
  const bool outward = facts.effects.has(Effect::kSpend) || facts.effects.has(Effect::kMessage) ||
                       facts.effects.has(Effect::kExternal);
  if (passage.sinks.empty() && (outward || !policy.rules().sinks)) passage.sinks.emplace(kExternal);
  return passage;
}

const Permission* naming_rule(const Policy& policy, std::string_view capability) {
  const auto& permissions = policy.rules().permissions;
  const auto found = std::find_if(permissions.begin(), permissions.end(), [&](const Permission& permission) {
    return permission.decision != Decision::kDeny && permission.pattern.names(capability);
  });
  return found == permissions.end() ? nullptr : &*found;
}

}  // namespace casemate::policy
