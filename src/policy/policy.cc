#include "policy/policy.h"

#include <string>
#include <utility>

#include "base/limits.h"
#include "policy/file.h"

namespace casemate::policy {

Policy::Policy(Rules rules) : rules_(std::make_shared<const Rules>(std::move(rules))) {}

Loaded Policy::parse(std::string_view text) {
  Loaded loaded;
  toml::Mistakes mistakes;
  const auto root = toml::read(text, {.bytes_max = kPolicyBytesMax}, mistakes);
  if (root) {
    toml::Table file(*root, "", mistakes);
    std::vector<FileTest> tests;
    Rules rules = read_rules(file, tests);
    if (mistakes.empty()) {
      Policy policy(std::move(rules));
      loaded.tests = tests.size();
      run_tests(policy, tests, mistakes);
      if (mistakes.empty()) {
        loaded.warnings = warnings_of(policy);
        loaded.policy = std::move(policy);
      }
    }
  }
  loaded.mistakes = mistakes.list();
  return loaded;
}

}  // namespace casemate::policy
