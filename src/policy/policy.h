// A policy: the rules of one file, read, checked and tested. docs/policy.md has the file's form.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "policy/rules.h"
#include "toml/document.h"

namespace casemate::policy {

struct Loaded;

// Immutable, hence thread-safe; copies share nothing that changes.
class Policy {
 public:
  // Reads a file's text. There is a policy only if there is no mistake, and each `[[test]]` of the file
  // holds. Otherwise all mistakes come together, each with its place. Pure; its time and memory are bounded
  // by kPolicyBytesMax and the other bounds of base/limits.h.
  static Loaded parse(std::string_view text);

  const Rules& rules() const { return *rules_; }

 private:
  explicit Policy(Rules rules);

  std::shared_ptr<const Rules> rules_;  // shared by copies, since many runs hold one policy
};

struct Loaded {
  std::optional<Policy> policy;
  std::vector<toml::Mistake> mistakes;  // none if there is a policy
  std::vector<toml::Mistake> warnings;  // only if there is one: what is allowed and hardly meant
  std::size_t tests = 0;                // that were run
};

}  // namespace casemate::policy
