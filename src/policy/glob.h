// Patterns with wildcards: `*` is any run of characters, also none, `?` is one character, and a backslash
// takes the meaning from the `*`, `?` or backslash behind it. Everything else stands for itself, capitals and
// small letters apart. A glob matches a whole text, and `*` passes over every character: dots, slashes and
// line ends too.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"

namespace casemate::policy {

// Immutable; copies.
class Glob {
 public:
  // Errors: invalid (not UTF-8, a backslash before anything else), exhausted (more than kGlobMax characters).
  static Result<Glob> parse(std::string_view pattern);
  // The glob that matches `text` alone, whatever characters that has; it may be of any length.
  static Glob literal(std::string_view text);

  // `text` is UTF-8. Takes time proportional to its length whatever the pattern is: all positions of the
  // pattern move together, a few words of bits a character, so there is nothing to go back to.
  bool matches(std::string_view text) const;

  // No wildcard: it matches one text.
  bool is_literal() const { return literal_; }

 private:
  using States = std::bitset<kGlobMax + 1>;  // state i: the first i characters of the pattern are matched

  const States& follows(char32_t character) const;

  bool literal_ = true;
  std::string prefix_;  // what stands before the first wildcard; of a literal all of it
  std::string suffix_;  // what stands behind the last one
  // For the rest: from state i one goes to i + 1 by a character whose set, or `any_`, has i, and stays by any
  // character if `stays_` has i.
  std::size_t length_ = 0;
  std::vector<std::pair<char32_t, States>> by_character_;  // sorted
  States any_;
  States stays_;
  static const States kNone;
};

}  // namespace casemate::policy
