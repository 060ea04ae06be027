// Exact decimal numbers: amounts that are compared and added as they are written, never by way of a float.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace casemate::json {

// A value; copies. Every digit that is not zero stands within kPlacesMax places of the decimal point, which
// bounds size and time: adding or comparing two takes some thousand steps at most.
class Decimal {
 public:
  static constexpr std::int64_t kPlacesMax = 2000;

  Decimal() = default;  // zero

  // `text`: a number as RFC 8259 spells it. "1e400" is one; zero has no sign and any exponent. Takes linear
  // time. Errors: invalid (it is not spelled so: NaN, "+1", " 1", "1_000", ".5"), exhausted (a digit beyond
  // kPlacesMax: "1e999999999").
  static Result<Decimal> parse(std::string_view text);
  // Of a number's text, or of a string that spells a number. Errors: those of parse(), and invalid for every
  // other kind of value.
  static Result<Decimal> of(const Value& value);

  // Errors: exhausted (the sum has a digit beyond kPlacesMax).
  static Result<Decimal> sum(const Decimal& a, const Decimal& b);

  // By value: 1.50 equals 1.5 and 15e-1, and -0 equals 0.
  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;

  bool negative() const { return negative_; }
  // The shortest text that parse() makes the same number of: plain where that is short, else "1.5e400".
  std::string text() const;

 private:
  Decimal(bool negative, std::string digits, std::int64_t exponent);
  static Result<Decimal> checked(bool negative, std::string digits, std::int64_t exponent);
  // One above the place of the first digit.
  std::int64_t top() const { return exponent_ + static_cast<std::int64_t>(digits_.size()); }

  // digits_ × 10^exponent_, without zeros at either end; zero is "" × 10^0. So equal numbers have equal
  // members.
  bool negative_ = false;
  std::string digits_;
  std::int64_t exponent_ = 0;
};

}  // namespace casemate::json
