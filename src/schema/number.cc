#include "schema/number.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"

namespace casemate::schema {
namespace {

// A number's text, cut at its places. number = [ "-" ] int [ "." 1*digit ] [ "e" [ "+" / "-" ] 1*digit ]
struct Spelling {
  bool negative = false;
  std::string_view integer;
  std::string_view fraction;
  bool exponent_negative = false;
  std::string_view exponent;
};

std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take_one(std::string_view& text, std::string_view any) {
  const bool there = !text.empty() && any.find(text.front()) != std::string_view::npos;
  if (there) text.remove_prefix(1);
  return there;
}

std::optional<Spelling> spell(std::string_view text) {
  Spelling spelling;
  spelling.negative = take_one(text, "-");
  spelling.integer = take_digits(text);
  if (spelling.integer.empty() || (spelling.integer.size() > 1 && spelling.integer.front() == '0')) {
    return std::nullopt;
  }
  if (take_one(text, ".")) {
    spelling.fraction = take_digits(text);
    if (spelling.fraction.empty()) return std::nullopt;
  }
  if (take_one(text, "eE")) {
    if (!text.empty() && text.front() == '-') spelling.exponent_negative = true;
    take_one(text, "+-");
    spelling.exponent = take_digits(text);
    if (spelling.exponent.empty()) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return spelling;
}

// nullopt when it is beyond kExponentMax.
std::optional<std::int64_t> exponent_of(const Spelling& spelling) {
  std::string_view digits = spelling.exponent;
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  std::int64_t value = 0;
  if (digits.size() > 10) return std::nullopt;
  if (!digits.empty()) std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (value > kExponentMax) return std::nullopt;
  return spelling.exponent_negative ? -value : value;
}

// 10^exponent modulo `modulus`, which is below 10^kDivisorDigitsMax.
std::uint64_t power_of_ten(std::uint64_t exponent, std::uint64_t modulus) {
  unsigned __int128 result = 1 % modulus;
  unsigned __int128 square = 10 % modulus;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * square % modulus;
    square = square * square % modulus;
  }
  return static_cast<std::uint64_t>(result);
}

}  // namespace

bool is_number_text(std::string_view text) { return spell(text).has_value(); }

Result<Decimal> Decimal::parse(std::string_view text) {
  const std::optional<Spelling> spelling = spell(text);
  if (!spelling) return fail(ErrorCode::kInvalid, "this is not how a number is spelled");
  Decimal number;
  number.digits_.reserve(spelling->integer.size() + spelling->fraction.size());
  number.digits_ += spelling->integer;
  number.digits_ += spelling->fraction;
  const std::size_t last = number.digits_.find_last_not_of('0');
  if (last == std::string::npos) return Decimal();  // zero, whatever its exponent
  const std::optional<std::int64_t> exponent = exponent_of(*spelling);
  if (!exponent) {
    return fail(ErrorCode::kExhausted, "a number's exponent may be -" + std::to_string(kExponentMax) +
                                           " to " + std::to_string(kExponentMax));
  }
  number.negative_ = spelling->negative;
  number.exponent_ = *exponent - static_cast<std::int64_t>(spelling->fraction.size()) +
                     static_cast<std::int64_t>(number.digits_.size() - 1 - last);
  number.digits_.resize(last + 1);
  number.digits_.erase(0, number.digits_.find_first_not_of('0'));
  return number;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (*this == other) return std::strong_ordering::equal;
  const auto sign = [](const Decimal& number) { return number.is_zero() ? 0 : number.negative_ ? -1 : 1; };
  if (sign(*this) != sign(other)) return sign(*this) <=> sign(other);
  // Both are above zero or both below. The place of the first digit tells more than the digits do.
  const std::int64_t place = static_cast<std::int64_t>(digits_.size()) + exponent_;
  const std::int64_t other_place = static_cast<std::int64_t>(other.digits_.size()) + other.exponent_;
  std::strong_ordering size = place <=> other_place;
  // Neither ends in zeros, so that the longer of two that begin alike is the larger.
  if (size == 0) size = digits_ <=> other.digits_;
  return negative_ ? 0 <=> size : size;
}

bool Decimal::is_multiple_of(const Decimal& divisor) const {
  CHECK(!divisor.is_zero() && !divisor.is_negative() && divisor.digits() <= kDivisorDigitsMax);
  if (is_zero()) return true;
  // a·10^m over d·10^n. Where m < n it is no integer: a does not end in a zero, so 10 does not divide it.
  if (exponent_ < divisor.exponent_) return false;
  std::uint64_t modulus = 0;
  std::from_chars(divisor.digits_.data(), divisor.digits_.data() + divisor.digits_.size(), modulus);
  unsigned __int128 rest = 0;
  for (const char digit : digits_) rest = (rest * 10 + static_cast<unsigned>(digit - '0')) % modulus;
  const auto more = static_cast<std::uint64_t>(exponent_ - divisor.exponent_);
  return rest * power_of_ten(more, modulus) % modulus == 0;
}

std::optional<std::uint64_t> Decimal::as_count() const {
  if (negative_ || !is_integer()) return std::nullopt;
  if (is_zero()) return 0;
  constexpr std::size_t kDigitsMax = std::numeric_limits<std::uint64_t>::digits10 + 1;
  if (exponent_ > static_cast<std::int64_t>(kDigitsMax) || digits_.size() > kDigitsMax) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  const std::string written = digits_ + std::string(static_cast<std::size_t>(exponent_), '0');
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  return error == std::errc{} ? value : std::numeric_limits<std::uint64_t>::max();
}

std::string Decimal::canonical() const {
  return (negative_ ? "-" : "") + (is_zero() ? "0" : digits_) + "e" + std::to_string(exponent_);
}

}  // namespace casemate::schema
