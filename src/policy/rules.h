// A policy as plain data: what its file says, each rule with its text and place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/budget.h"
#include "policy/flow.h"
#include "policy/glob.h"
#include "policy/pattern.h"
#include "policy/vocabulary.h"
#include "toml/document.h"

namespace casemate::policy {

struct Permission {
  Decision decision = Decision::kDeny;
  Pattern pattern;
  toml::Text text;
};

// `"web.*" = ["untrusted"]`
struct SourceRule {
  Glob glob;
  std::vector<std::string> labels;
  toml::Text key;
};

// `"mail.send" = "external"`, `stdout = "external"`
struct SinkRule {
  Glob glob;  // unless it is about a pseudo-sink
  std::optional<PseudoSink> pseudo;
  std::string sink_class;
  toml::Text key;
};

// `"payment.*" = ["spend"]`
struct EffectRule {
  Glob glob;
  Effects effects;
  toml::Text key;
};

// `"ledger.write" = 1`, `"mail.draft" = { tier = 2, override = "a draft leaves nothing" }`
struct TierRule {
  Glob glob;
  Tier tier = Tier::kOne;
  std::string reason;  // of an override, which names one capability; else empty
  toml::Text key;
};

struct FlowRule {
  FlowCondition when;
  Decision verdict = Decision::kDeny;
  std::string reason;
  toml::Text text;
};

struct Rules {
  Decision unmatched = Decision::kAsk;         // `default`
  std::optional<toml::Place> unmatched_place;  // none: the file has no `default`
  std::vector<Permission> permissions;         // in the order of the file, deny before ask before allow
  std::optional<toml::Place> allows_nothing;   // `allow = []`, and where
  // A table that is absent and one that is empty differ: docs/policy.md.
  std::optional<std::vector<SourceRule>> sources;
  std::optional<std::vector<SinkRule>> sinks;
  std::vector<std::string> other_labels;  // that no source has: the harness brings them
  std::vector<EffectRule> effects;
  std::vector<TierRule> tiers;
  std::vector<FlowRule> flows;
  std::vector<Budget> budgets;
};

}  // namespace casemate::policy
