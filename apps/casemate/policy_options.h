// What `casemate policy` and its commands take, and what --help says of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.h"

namespace casemate {

// Of all the commands: each table fills its own part.
struct PolicyArguments {
  std::string file;
  std::string call;
  std::vector<std::string> labels;
  std::vector<std::string> effects;
  std::vector<std::string> annotations;
  std::string from = "box";
  std::optional<std::string> catalogue;
  bool json = false;
  bool batch = false;
};

extern const char* const kPolicyUsage;

// The arguments must outlive the table.
Command policy_check_table(PolicyArguments& arguments);
Command policy_explain_table(PolicyArguments& arguments);
Command policy_tiers_table(PolicyArguments& arguments);

}  // namespace casemate
