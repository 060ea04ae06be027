// policy::Policy::parse on any bytes taken as a policy file, and its verdicts on a few calls.
#include <string>
#include <string_view>

#include "base/limits.h"
#include "fuzz.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "policy/judge.h"
#include "policy/policy.h"
#include "policy/tiers.h"

namespace casemate::policy {
namespace {

void check_mistakes(const std::vector<toml::Mistake>& mistakes, std::string_view text) {
  toml::Place before{0, 0};
  for (const toml::Mistake& mistake : mistakes) {
    FUZZ_CHECK(mistake.place >= before && mistake.place.line >= 1 && mistake.place.column >= 1);
    FUZZ_CHECK(mistake.place.line <= text.size() + 1 && mistake.place.column <= text.size() + 1);
    before = mistake.place;
    FUZZ_CHECK(!mistake.what.empty() && mistake.what.find('\n') == std::string::npos);
    FUZZ_CHECK(json::is_valid_utf8(mistake.what) && mistake.what.find('\x1b') == std::string::npos);
  }
}

void check_verdicts(const Policy& policy) {
  static const auto kArguments = json::read(
      R"({"to":"a@example.com","amount":12.5,"currency":"EUR","items":[{"amount":"1e400"},{}],"n":null})");
  for (const char* name : {"mail.send", "a", "payment.send"}) {
    for (const Origin origin : {Origin::kBox, Origin::kModel}) {
      const Capability capability{name, {}, {}, Tier::kTwo, {}};
      RunState run = start(policy, {});
      const Call call{*kArguments, origin};
      const Verdict verdict = judge(policy, capability, call, run);
      FUZZ_CHECK(!verdict.grounds.empty() && verdict.grounds.front().decision == verdict.decision);
      for (const Ground& ground : verdict.grounds) FUZZ_CHECK(ground.decision <= verdict.decision);
      charge(policy, capability, call, run);
      deliver(policy, capability, run);
      (void)judge(policy, capability, call, run);
      // Nothing but a rule allows, and none allows by what it could not answer.
      if (verdict.decision != Decision::kAllow) continue;
      FUZZ_CHECK(verdict.grounds.front().kind == Ground::Kind::kPermission &&
                 !verdict.grounds.front().unknown);
    }
  }
}

void check(std::string_view text) {
  const Loaded loaded = Policy::parse(text);
  FUZZ_CHECK(loaded.policy.has_value() == loaded.mistakes.empty());
  check_mistakes(loaded.mistakes, text);
  check_mistakes(loaded.warnings, text);
  if (loaded.policy) check_verdicts(*loaded.policy);
}

}  // namespace
}  // namespace casemate::policy

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::policy::check(casemate::fuzz::view(data, size));
  return 0;
}
