// A regular expression of a schema, compiled. pattern.cc is the one place that knows RE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace casemate::schema {

inline constexpr std::size_t kPatternBytesMax = 2000;
// Instructions of a compiled pattern, and of all patterns of one schema together. What one search can cost at
// worst is this times the bytes searched.
inline constexpr std::size_t kPatternSizeMax = 10'000;
inline constexpr std::size_t kPatternSizeSumMax = 100'000;

// Immutable once compiled, and safe to use from any thread.
class Pattern {
 public:
  // `text` as ECMA-262 spells it (ecma.h).
  // Errors: invalid (no such expression, or it needs what is not supported), exhausted (one of the bounds).
  static Result<Pattern> compile(std::string_view text);

  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

  // Whether it is found anywhere in `text`, which must be valid UTF-8. Time: at worst size() × the bytes of
  // the text, mostly just the bytes. Memory: RE2 keeps at most some 2 MiB between searches.
  bool is_found_in(std::string_view text) const;

  std::size_t size() const { return size_; }

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);

  std::unique_ptr<Compiled> compiled_;
  std::size_t size_ = 0;
};

}  // namespace casemate::schema
