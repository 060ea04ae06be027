#include "policy/vocabulary.h"

#include <algorithm>

#include "base/limits.h"

namespace casemate::policy {
namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename Values>
auto find_word(const Values& values, std::string_view text) -> std::optional<typename Values::value_type> {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](auto value) { return word(value) == text; });
  return found == values.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::string_view word(Decision decision) {
  switch (decision) {
    case Decision::kAllow: return "allow";
    case Decision::kAsk: return "ask";
    case Decision::kDeny: return "deny";
  }
  return "deny";
}

std::string_view word(Effect effect) {
  switch (effect) {
    case Effect::kSpend: return "spend";
    case Effect::kMessage: return "message";
    case Effect::kExternal: return "external";
    case Effect::kIrreversible: return "irreversible";
    case Effect::kRegulated: return "regulated";
  }
  return "";
}

std::string_view word(Annotation annotation) {
  switch (annotation) {
    case Annotation::kDestructive: return "destructive";
    case Annotation::kOpenWorld: return "open-world";
    case Annotation::kWrites: return "writes";
  }
  return "";
}

std::string_view word(Origin origin) { return origin == Origin::kBox ? "box" : "model"; }

std::string_view word(PseudoSink sink) {
  switch (sink) {
    case PseudoSink::kStdout: return "stdout";
    case PseudoSink::kResult: return "result";
    case PseudoSink::kArtifact: return "artifact";
  }
  return "";
}

std::optional<Decision> decision_of(std::string_view text) { return find_word(kDecisions, text); }
std::optional<Effect> effect_of(std::string_view text) { return find_word(kEffects, text); }
std::optional<Annotation> annotation_of(std::string_view text) { return find_word(kAnnotations, text); }
std::optional<PseudoSink> pseudo_sink_of(std::string_view text) { return find_word(kPseudoSinks, text); }
std::optional<Origin> origin_of(std::string_view text) {
  return find_word(std::array{Origin::kBox, Origin::kModel}, text);
}

bool is_capability_name(std::string_view name) {
  if (name.empty() || name.size() > kCapabilityNameMax || pseudo_sink_of(name)) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_small(c) || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           std::string_view("_.-/:").find(c) != std::string_view::npos;
  });
}

bool is_label(std::string_view text) {
  if (text.empty() || text.size() > kLabelMax || !is_small(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_small(c) || is_digit(c) || c == '_' || c == '-'; });
}

void Labels::add(std::string_view label, std::string_view source) {
  if (sources_.find(label) != sources_.end()) return;
  if (sources_.size() == kLabelsMax) {
    overflow_ = true;
    return;
  }
  sources_.emplace(label, source);
}

void Labels::join(const Labels& other) {
  for (const auto& [label, source] : other.sources_) add(label, source);
  overflow_ = overflow_ || other.overflow_;
}

}  // namespace casemate::policy
