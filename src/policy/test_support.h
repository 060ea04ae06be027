// What the tests of policies share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/reader.h"
#include "policy/call_text.h"
#include "policy/judge.h"
#include "policy/policy.h"

namespace casemate::policy {

// "line:column what" of each mistake or warning, a line each.
inline std::string listed(const std::vector<toml::Mistake>& mistakes) {
  std::string all;
  for (const toml::Mistake& mistake : mistakes) {
    all += std::to_string(mistake.place.line) + ":" + std::to_string(mistake.place.column) + " " +
           mistake.what + "\n";
  }
  return all;
}

inline Policy policy_of(std::string_view text) {
  Loaded loaded = Policy::parse(text);
  EXPECT_TRUE(loaded.policy.has_value()) << listed(loaded.mistakes);
  if (!loaded.policy) loaded = Policy::parse("default = \"deny\"");
  return std::move(*loaded.policy);
}

inline Capability named(std::string name) { return Capability{std::move(name), {}, {}, Tier::kTwo, {}}; }

// A run of one policy, with calls as text.
struct TestRun {
  explicit TestRun(std::string_view text, const std::vector<std::string>& labels = {})
      : policy(policy_of(text)) {
    Labels seed;
    for (const std::string& label : labels) seed.add(label, "the harness");
    run = start(policy, seed);
  }

  Verdict verdict(std::string_view call, Origin origin = Origin::kBox) const {
    std::size_t offset = 0;
    const auto parsed = parse_call(call, offset);
    EXPECT_TRUE(parsed.has_value()) << call << ": " << parsed.error().message;
    return judge(policy, named(parsed->capability), {parsed->arguments, origin}, run);
  }

  // "ask: permissions.ask: x.y (line 3)"
  std::string says(std::string_view call, Origin origin = Origin::kBox) const {
    const Verdict judged = verdict(call, origin);
    const Ground& ground = judged.grounds.front();
    EXPECT_EQ(ground.decision, judged.decision);
    const std::string line =
        ground.place.line == 0 ? "" : " (line " + std::to_string(ground.place.line) + ")";
    return std::string(word(judged.decision)) + ": " + ground.rule + line;
  }

  std::string_view decides(std::string_view call, Origin origin = Origin::kBox) const {
    return word(verdict(call, origin).decision);
  }

  // The call takes effect, and its result is delivered.
  void make(std::string_view call) {
    std::size_t offset = 0;
    const auto parsed = parse_call(call, offset);
    ASSERT_TRUE(parsed.has_value()) << call;
    charge(policy, named(parsed->capability), {parsed->arguments, Origin::kBox}, run);
    deliver(policy, named(parsed->capability), run);
  }

  Policy policy;
  RunState run;
};

}  // namespace casemate::policy
