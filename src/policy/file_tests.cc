// `[[test]]` of a policy file: read, and run when the file is loaded.
#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "policy/file.h"

namespace casemate::policy {
namespace {

constexpr std::string_view kSeed = "the test";

std::optional<CallText> read_call(const toml::Text& text, toml::Mistakes& mistakes) {
  std::size_t offset = 0;
  auto call = parse_call(text.text, offset);
  if (call) return std::move(*call);
  add_fault(mistakes, text, offset, call.error());
  return std::nullopt;
}

// The words of a list, each made into a value.
void read_words(toml::Table& table, std::string_view key, const char* wanted, auto take) {
  const auto texts = table.texts(key, kLabelsMax);
  if (!texts) return;
  for (const toml::Text& text : texts->items) {
    if (!take(text.text)) table.mistakes().add(text.place, wanted);
  }
}

void read_call_or_sink(toml::Table& table, FileTest& test) {
  const auto call = table.text("call");
  const auto sink = table.word("sink", {"stdout", "result", "artifact"});
  if (call) test.call = read_call(*call, table.mistakes());
  if (sink) test.sink = pseudo_sink_of(sink->text);
  if (call && sink) table.mistakes().add(sink->place, "a test has a call or a sink, not both");
  if (!table.has("call") && !table.has("sink")) {
    table.mistakes().add(table.place(), "[[test]] has neither call nor sink");
  }
}

FileTest read_test(toml::Table& table) {
  FileTest test;
  read_call_or_sink(table, test);
  if (const auto before = table.texts("before", kPolicyTestCallsMax)) {
    for (const toml::Text& text : before->items) {
      if (auto call = read_call(text, table.mistakes())) test.before.push_back(std::move(*call));
    }
  }
  read_words(table, "labels", "a label is a word of small letters, digits, \"_\" and \"-\"",
             [&](const std::string& text) {
               if (!is_label(text)) return false;
               test.labels.add(text, kSeed);
               return true;
             });
  read_words(table, "effects", "an effect is spend, message, external, irreversible or regulated",
             [&](const std::string& text) {
               const auto effect = effect_of(text);
               if (effect) test.effects.add(*effect);
               return effect.has_value();
             });
  read_words(table, "annotations", "an annotation is destructive, open-world or writes",
             [&](const std::string& text) {
               const auto annotation = annotation_of(text);
               if (annotation) test.annotations.add(*annotation);
               return annotation.has_value();
             });
  if (const auto origin = table.word("from", {"box", "model"})) test.origin = *origin_of(origin->text);
  table.need("expect");
  if (const auto expect = table.word("expect", {"allow", "ask", "deny"})) {
    test.expect = *decision_of(expect->text);
    test.place = expect->place;
  }
  table.finish();
  return test;
}

Verdict verdict_of(const Policy& policy, const FileTest& test) {
  RunState run = start(policy, test.labels);
  for (const CallText& call : test.before) {
    const Capability capability{call.capability, {}, {}, Tier::kTwo, {}};
    charge(policy, capability, {call.arguments, test.origin}, run);
    deliver(policy, capability, run);
  }
  if (test.sink) return judge_sink(policy, *test.sink, run);
  const Capability capability{test.call->capability, test.effects, test.annotations, Tier::kTwo, {}};
  return judge(policy, capability, {test.call->arguments, test.origin}, run);
}

}  // namespace

std::vector<FileTest> read_tests(toml::Table& file) {
  std::vector<FileTest> tests;
  for (toml::Table& table : file.tables("test", kPolicyTestsMax)) tests.push_back(read_test(table));
  return tests;
}

void run_tests(const Policy& policy, const std::vector<FileTest>& tests, toml::Mistakes& mistakes) {
  for (const FileTest& test : tests) {
    const Verdict verdict = verdict_of(policy, test);
    if (verdict.decision == test.expect) continue;
    const Ground& ground = verdict.grounds.front();
    std::string what = "this test expects " + std::string(word(test.expect)) + " and the verdict is " +
                       std::string(word(verdict.decision)) + " by " + ground.rule;
    if (ground.place.line > 0) what += " (line " + std::to_string(ground.place.line) + ")";
    mistakes.add(test.place, what + ": " + ground.reason);
  }
}

}  // namespace casemate::policy
