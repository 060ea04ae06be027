#include "policy/pattern.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "json/utf8.h"

namespace casemate::policy {
namespace {

constexpr std::string_view kTierOne = "tier1";
constexpr std::size_t kShownMax = 40;

}  // namespace

std::optional<Class> Class::of(std::string_view word) {
  Class found;
  found.effect_ = effect_of(word);
  found.annotation_ = annotation_of(word);
  if (!found.effect_ && !found.annotation_ && word != kTierOne) return std::nullopt;
  return found;
}

std::string Class::words() {
  std::string all;
  for (const Effect effect : kEffects) all += std::string(word(effect)) + ", ";
  for (const Annotation annotation : kAnnotations) all += std::string(word(annotation)) + ", ";
  return all + std::string(kTierOne);
}

bool Class::has(const Facts& facts) const {
  if (effect_) return facts.effects.has(*effect_);
  if (annotation_) return facts.annotations.has(*annotation_);
  return facts.tier == Tier::kOne;
}

Result<Glob> parse_name_glob(std::string_view text) {
  if (text.empty()) return fail(ErrorCode::kInvalid, "the name of a capability is due here");
  if (text.size() > kCapabilityNameMax) {
    return fail(ErrorCode::kExhausted,
                "a name has more than " + std::to_string(kCapabilityNameMax) + " characters");
  }
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    return c != '*' && c != '?' && !is_capability_name(std::string_view(&c, 1));
  });
  if (bad != text.end()) {
    const std::string_view rest = text.substr(static_cast<std::size_t>(bad - text.begin()));
    return fail(ErrorCode::kInvalid,
                "a name has no `" + json::one_line(rest.substr(0, json::decode(rest).size), kShownMax) + "`");
  }
  return Glob::parse(text);
}

Result<Pattern> Pattern::parse(std::string_view text, std::size_t& fault_offset) {
  fault_offset = 0;
  if (text.size() > kPatternMax) {
    return fail(ErrorCode::kExhausted, "a pattern has more than " + std::to_string(kPatternMax) + " bytes");
  }
  Pattern pattern;
  const std::size_t bracket = text.find('(');
  std::string_view target = text.substr(0, bracket);
  const std::size_t at = target.find('@');
  if (at != std::string_view::npos) {
    pattern.class_ = Class::of(target.substr(at + 1));
    if (!pattern.class_) {
      fault_offset = at;
      return fail(ErrorCode::kInvalid, "there is no class \"" + json::one_line(target.substr(at), kShownMax) +
                                           "\"; there are " + Class::words());
    }
    target = at == 0 ? "*" : target.substr(0, at);
  }
  pattern.name_ = target;
  pattern.glob_ = TRY(parse_name_glob(target));
  if (pattern.named() && pseudo_sink_of(target)) {
    return fail(ErrorCode::kInvalid, "`" + pattern.name_ + "` is a way out of the run, and no capability");
  }
  if (bracket == std::string_view::npos) return pattern;
  if (text.back() != ')') {
    fault_offset = text.size();
    return fail(ErrorCode::kInvalid, "`)` is due at the end");
  }
  const std::string_view condition = text.substr(bracket + 1, text.size() - bracket - 2);
  pattern.condition_ = TRY(Condition::parse(condition, bracket + 1, fault_offset));
  return pattern;
}

bool Pattern::covers(const Facts& facts) const {
  return glob_.matches(facts.name) && (!class_ || class_->has(facts));
}

Answer Pattern::holds(const json::Value& arguments) const {
  return condition_ ? condition_->evaluate(arguments) : Answer::of(true);
}

}  // namespace casemate::policy
