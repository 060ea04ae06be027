// Verdicts: what a policy says of one call, given what its run was exposed to and has used.
//
// Everything here is pure and total: values in, values out. Whoever calls it (the bridge) keeps the order.
// For one run, one after the other:
//
//     verdict = judge(policy, capability, call, run)     deny: refused. ask: a person, then judge() again,
//     since charge(policy, capability, call, run)              labels may have grown meanwhile; nobody there:
//     refused …the connector is called… deliver(policy, capability, run)                   before the guest
//     sees a byte of the result or of the error
//
// and judge_sink() before output, a result or an artifact leaves. Judging and charging one call is one step:
// nothing of the same run comes between.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "policy/policy.h"
#include "policy/vocabulary.h"
#include "toml/document.h"

namespace casemate::policy {

// What the catalogue says of a capability. The file may add effects and labels; nothing takes them away.
struct Capability {
  std::string name;
  Effects effects;
  Annotations annotations;          // of the upstream server: they only tighten
  Tier tier = Tier::kTwo;           // kOne makes it tier 1; kTwo says nothing where there is an effect
  std::vector<std::string> labels;  // of its results, beside what the file says
};

struct Call {
  const json::Value& arguments;  // should be an object; anything else is never allowed by a condition
  Origin origin = Origin::kBox;
};

// What is known of one run. A plain value that its owner keeps, and that belongs to one policy. Made by
// start().
struct RunState {
  Labels labels;
  std::vector<Spent> spent;  // one for each budget of the policy
};

// One thing that speaks for the verdict.
struct Ground {
  enum class Kind : unsigned char { kPermission, kDefault, kTier, kFlow, kBudget, kName };

  Decision decision = Decision::kDeny;
  Kind kind = Kind::kDefault;
  std::string rule;      // "permissions.ask: payment.send(amount > 100)"
  toml::Place place;     // of the rule in the file; {0, 0}: no line says it
  std::string reason;    // why it applies; one line
  bool unknown = false;  // it counts as a match because its condition could not be answered
};

struct Verdict {
  Decision decision = Decision::kDeny;
  // What applies, strictest first; at least one. The first decides.
  std::vector<Ground> grounds;
};

// A run that begins with the labels that its harness declares for the program, its files and its session.
RunState start(const Policy& policy, const Labels& seed);

// The strictest of: the permissions, the tier, each flow rule and each budget that applies. Takes time linear
// in the arguments for each condition.
Verdict judge(const Policy& policy, const Capability& capability, const Call& call, const RunState& run);

// The same for output, the result or an artifact of the run: the flow rules alone; allow when none applies.
Verdict judge_sink(const Policy& policy, PseudoSink sink, const RunState& run);

// Charges the budgets with a call that was admitted.
void charge(const Policy& policy, const Capability& capability, const Call& call, RunState& run);

// Joins the labels of the capability's results to the run's.
void deliver(const Policy& policy, const Capability& capability, RunState& run);

// What is known of a capability once the file was heard: its effects, its tier and why.
Facts facts_of(const Policy& policy, const Capability& capability);
// The labels that its results carry.
Labels labels_of(const Policy& policy, const Capability& capability);
// The classes that it is a sink of.
Passage passage_of(const Policy& policy, const Facts& facts);
// The place and text of the rule that names it, so that code in a box may call it at tier 1; or nullptr.
const Permission* naming_rule(const Policy& policy, std::string_view capability);

// "permission", "default", "tier", "flow", "budget", "name".
std::string_view word(Ground::Kind kind);

}  // namespace casemate::policy
