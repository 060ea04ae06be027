// Which capabilities are tier 1, why, and which hardly are what they are declared: `casemate policy tiers`.
#pragma once

#include <string>
#include <vector>

#include "policy/judge.h"
#include "policy/policy.h"
#include "toml/document.h"

namespace casemate::policy {

struct TierRow {
  Facts facts;
  const Permission* named_by =
      nullptr;           // the rule that lets code in a box call it; lives as long as the policy
  std::string proposal;  // what its name suggests and nobody declared; empty: nothing
};

// The capabilities of a catalogue, and those that the file names without wildcards; tier 1 first, then by
// name.
std::vector<TierRow> tier_rows(const Policy& policy, const std::vector<Capability>& catalogue);

// What is allowed and hardly meant, by place: more than kTierOneAdvised tier 1 tools; an allow rule with a
// wildcard over a tier 1 capability, which it does not open to code in a box.
std::vector<toml::Mistake> tier_warnings(const Policy& policy, const std::vector<TierRow>& rows);

}  // namespace casemate::policy
