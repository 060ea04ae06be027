// Reading the rules and tests of a policy file. policy.cc puts them together; nobody else needs this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/call_text.h"
#include "policy/judge.h"
#include "policy/rules.h"
#include "toml/table.h"

namespace casemate::policy {

// One `[[test]]` of a file.
struct FileTest {
  std::vector<CallText> before;  // calls that were made before, admitted and delivered
  std::optional<CallText> call;  // this one, or `sink`
  std::optional<PseudoSink> sink;
  Labels labels;
  Origin origin = Origin::kBox;
  Effects effects;
  Annotations annotations;
  Decision expect = Decision::kDeny;
  toml::Place place;  // of `expect`
};

// Adds every mistake; what it returns is to be used only if there is none.
Rules read_rules(toml::Table& file, std::vector<FileTest>& tests);

// `[[flow]]`, `[budgets]`: file_rules.cc. `[[test]]`: file_tests.cc.
void read_flows(toml::Table& file, Rules& rules);
void read_budgets(toml::Table& file, Rules& rules);
std::vector<FileTest> read_tests(toml::Table& file);

// Runs them. A mistake for each that does not hold.
void run_tests(const Policy& policy, const std::vector<FileTest>& tests, toml::Mistakes& mistakes);

// What no rule is meant to say: sorted by place.
std::vector<toml::Mistake> warnings_of(const Policy& policy);

// Adds a mistake about the byte `offset` of a string of the file.
void add_fault(toml::Mistakes& mistakes, const toml::Text& text, std::size_t offset, const Error& error);

}  // namespace casemate::policy
