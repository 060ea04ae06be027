// Exact decimals: what a number's text says, with no double in between.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace casemate::schema {

// Nothing that anybody counts needs more, and no exponent above it is ever written out in digits.
inline constexpr std::int64_t kExponentMax = 999'999'999;
// Of the divisor of multipleOf: the product of two such numbers fits in 128 bits.
inline constexpr std::size_t kDivisorDigitsMax = 18;

// A number: digits × 10^exponent, in one spelling each. Every operation is linear in the digits that were
// written and takes no time for the exponent: 1e999999999 is as quick as 1. Immutable.
class Decimal {
 public:
  // `text` as RFC 8259 spells a number: "-0", "1.50", "1E+2". As much memory as the text.
  // Errors: invalid (it is spelled otherwise), exhausted (an exponent beyond kExponentMax).
  static Result<Decimal> parse(std::string_view text);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }
  // 1.0 and 1e3 are integers, as in JSON Schema (draft 2020-12, 6.1.1).
  bool is_integer() const { return exponent_ >= 0; }
  std::size_t digits() const { return digits_.size(); }

  // As numbers: 1.50 equals 1.5, and -0 equals 0.
  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;

  // Whether this is an integer times `divisor`, which must be above zero and have at most kDivisorDigitsMax
  // digits().
  bool is_multiple_of(const Decimal& divisor) const;

  // For limits such as maxLength: an integer that is not negative, 2^64-1 for what is above that; nullopt for
  // every other number.
  std::optional<std::uint64_t> as_count() const;

  // Two numbers have the same text exactly when they are equal: "-15e-1", "0e0". No white space.
  std::string canonical() const;

 private:
  bool negative_ = false;      // never of zero
  std::string digits_;         // no zero at either end; empty for zero
  std::int64_t exponent_ = 0;  // 0 for zero
};

// Whether the text is a number as RFC 8259 spells it.
bool is_number_text(std::string_view text);

}  // namespace casemate::schema
