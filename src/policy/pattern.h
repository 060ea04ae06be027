// What a rule of `[permissions]` is about: `payment.*`, `mail.send(to !~ '*@example.com')`,
// `github.*@destructive`.
//
//     pattern = ( name-glob | "@" class | name-glob "@" class ) [ "(" condition ")" ]
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/condition.h"
#include "policy/glob.h"
#include "policy/vocabulary.h"

namespace casemate::policy {

// What is known of a capability once file, catalogue and server have been heard.
struct Facts {
  std::string name;
  Effects effects;  // `warned` included
  Effects warned;   // by its server's annotations alone
  Annotations annotations;
  Tier tier = Tier::kTwo;
  std::string tier_why;
};

// Capabilities of a kind: one with an effect, with a warning of its server, or of tier 1.
class Class {
 public:
  // "spend", …, "destructive", …, "tier1". Nothing for any other word.
  static std::optional<Class> of(std::string_view word);
  // All the words, for a message.
  static std::string words();

  bool has(const Facts& facts) const;

 private:
  std::optional<Effect> effect_;
  std::optional<Annotation> annotation_;  // neither: tier 1
};

// A name with wildcards in a file: letters, digits, "_", ".", "-", "/", ":", "*" and "?".
// Errors: invalid, exhausted (longer than kCapabilityNameMax).
Result<Glob> parse_name_glob(std::string_view text);

// Immutable; copies.
class Pattern {
 public:
  // Errors: invalid, exhausted; then `fault_offset` is where in `text`, in bytes.
  static Result<Pattern> parse(std::string_view text, std::size_t& fault_offset);

  // Does it cover the capability, whatever the arguments are?
  bool covers(const Facts& facts) const;
  // What its condition says of the arguments; true when it has none.
  Answer holds(const json::Value& arguments) const;

  // Does it name a capability: without a wildcard and without a class? `*` and `mail.*` name nothing.
  bool names(std::string_view capability) const { return named() && name_ == capability; }
  bool named() const { return !class_ && glob_.is_literal(); }
  bool has_class() const { return class_.has_value(); }
  bool has_condition() const { return condition_.has_value(); }
  // What stands before the class and the condition.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  Glob glob_;
  std::optional<Class> class_;
  std::optional<Condition> condition_;
};

}  // namespace casemate::policy
