// The words of policy: what a capability does, who calls it, what a run was exposed to, what is decided.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace casemate::policy {

// In the order of strictness.
enum class Decision : unsigned char { kAllow, kAsk, kDeny };

// What a capability does to the world. Each of them makes it tier 1.
enum class Effect : unsigned char { kSpend, kMessage, kExternal, kIrreversible, kRegulated };

// What an upstream server says of its tool, as far as it is a warning: MCP's destructiveHint true,
// openWorldHint true, readOnlyHint false. What would reassure has no form here, so that a server can only
// tighten.
enum class Annotation : unsigned char { kDestructive, kOpenWorld, kWrites };

enum class Tier : unsigned char { kOne = 1, kTwo = 2 };

// Who makes a call: code in a box, or the model itself, to which tier 1 capabilities are published as tools.
enum class Origin : unsigned char { kBox, kModel };

// Ways out of a run that are no calls.
enum class PseudoSink : unsigned char { kStdout, kResult, kArtifact };

inline constexpr std::array kDecisions = {Decision::kAllow, Decision::kAsk, Decision::kDeny};
inline constexpr std::array kEffects = {Effect::kSpend, Effect::kMessage, Effect::kExternal,
                                        Effect::kIrreversible, Effect::kRegulated};
inline constexpr std::array kAnnotations = {Annotation::kDestructive, Annotation::kOpenWorld,
                                            Annotation::kWrites};
inline constexpr std::array kPseudoSinks = {PseudoSink::kStdout, PseudoSink::kResult, PseudoSink::kArtifact};

// "allow", "spend", "open-world", "box", "stdout", …: as files and documents spell them.
std::string_view word(Decision decision);
std::string_view word(Effect effect);
std::string_view word(Annotation annotation);
std::string_view word(Origin origin);
std::string_view word(PseudoSink sink);

// The value that a word means, or nothing.
std::optional<Decision> decision_of(std::string_view text);
std::optional<Effect> effect_of(std::string_view text);
std::optional<Annotation> annotation_of(std::string_view text);
std::optional<Origin> origin_of(std::string_view text);
std::optional<PseudoSink> pseudo_sink_of(std::string_view text);

// A set of the values of a small enumeration.
template <typename Enum>
class Set {
 public:
  void add(Enum value) { bits_ |= bit(value); }
  void add(Set other) { bits_ |= other.bits_; }
  bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  bool empty() const { return bits_ == 0; }
  bool operator==(const Set&) const = default;

 private:
  static std::uint32_t bit(Enum value) { return std::uint32_t{1} << static_cast<unsigned>(value); }
  std::uint32_t bits_ = 0;
};
using Effects = Set<Effect>;
using Annotations = Set<Annotation>;

// 1 to kCapabilityNameMax letters, digits and "_", ".", "-", "/", ":", and not the name of a pseudo-sink.
bool is_capability_name(std::string_view name);
// A small letter, then up to kLabelMax - 1 small letters, digits, "_" and "-". Labels and sink classes are
// such.
bool is_label(std::string_view text);

// What a run, or a result, has been exposed to, and where from. Only grows: nothing takes a label away. A
// value; copies.
class Labels {
 public:
  // `source` is who brought it: a capability, or "the harness". The first to bring a label is remembered.
  void add(std::string_view label, std::string_view source);
  void join(const Labels& other);
  // True for every label once there were more than kLabelsMax: what is not known counts as there.
  bool has(std::string_view label) const { return overflow_ || sources_.find(label) != sources_.end(); }
  bool overflow() const { return overflow_; }
  // Label to source, sorted.
  const std::map<std::string, std::string, std::less<>>& all() const { return sources_; }
  bool operator==(const Labels&) const = default;

 private:
  std::map<std::string, std::string, std::less<>> sources_;
  bool overflow_ = false;
};

}  // namespace casemate::policy
