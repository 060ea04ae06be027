// Cases for a policy as JSON says them: calls, capabilities, verdicts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "json/writer.h"
#include "policy/judge.h"

namespace casemate {

// The words of a list, each made into a value. Errors: invalid.
Result<policy::Effects> effects_of(const std::vector<std::string>& words);
Result<policy::Annotations> annotations_of(const std::vector<std::string>& words);
Result<policy::Labels> labels_of(const std::vector<std::string>& words);

// {"name", "effects"?, "annotations"?, "tier"?, "labels"?}. Errors: invalid (another key, another type).
Result<policy::Capability> read_capability(const json::Value& value);

// One line of `casemate policy explain --batch`: {"policy": text, "labels"?: [...], "calls": [...]}, of which
// each call is {"name", "effects"?, …, "arguments": {...}, "from"?} or {"sink"}. The calls are those of one
// run, in their order; one that is not denied is charged and delivered, an ask as though a person had agreed.
// The answer is {"verdicts": [...]}, or {"mistakes": [...]} of the policy, or {"error"}.
std::string answer_case(std::string_view line);

// {"verdict", "grounds": [{"decision", "kind", "rule", "line", "column", "reason", "unknown"}]} into an
// object that is open.
void write_verdict(const policy::Verdict& verdict, json::Writer& writer);
void write_mistakes(const std::vector<toml::Mistake>& mistakes, std::string_view key, json::Writer& writer);

}  // namespace casemate
