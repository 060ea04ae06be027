#include "json/decimal.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "json/utf8.h"

namespace casemate::json {
namespace {

// What an exponent is taken for that is larger: beyond every bound, and far from an overflow.
constexpr std::int64_t kExponentCap = std::int64_t{1} << 40;
// A number that is written without an exponent has at most so many digits, the zeros at its ends included.
constexpr std::int64_t kPlainMax = 40;
constexpr std::size_t kShownMax = 40;

struct Spelled {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  std::int64_t exponent = 0;
};

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  text.remove_prefix(digits.size());
  return digits;
}

bool take_one(std::string_view& text, std::string_view any) {
  const bool there = !text.empty() && any.find(text.front()) != std::string_view::npos;
  if (there) text.remove_prefix(1);
  return there;
}

// number = [ "-" ] ( "0" / 1-9 *digit ) [ "." 1*digit ] [ "e" [ "+" / "-" ] 1*digit ]
std::optional<Spelled> spell(std::string_view text) {
  Spelled spelled;
  spelled.negative = take_one(text, "-");
  spelled.whole = take_digits(text);
  if (spelled.whole.empty() || (spelled.whole.size() > 1 && spelled.whole.front() == '0'))
    return std::nullopt;
  if (take_one(text, ".")) {
    spelled.fraction = take_digits(text);
    if (spelled.fraction.empty()) return std::nullopt;
  }
  if (take_one(text, "eE")) {
    const bool down = text.starts_with('-');
    take_one(text, "+-");
    const std::string_view digits = take_digits(text);
    if (digits.empty()) return std::nullopt;
    for (const char digit : digits)
      spelled.exponent = std::min(spelled.exponent * 10 + (digit - '0'), kExponentCap);
    if (down) spelled.exponent = -spelled.exponent;
  }
  if (!text.empty()) return std::nullopt;
  return spelled;
}

std::string zeros(std::int64_t count) {
  return std::string(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), '0');
}

// Of two rows of digits that are equally long.
std::string add_digits(const std::string& a, const std::string& b) {
  std::string result(a.size() + 1, '0');
  int carry = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    const int digit = (a[i] - '0') + (b[i] - '0') + carry;
    result[i + 1] = static_cast<char>('0' + digit % 10);
    carry = digit / 10;
  }
  result[0] = static_cast<char>('0' + carry);
  return result;
}

// The same, of which `a` is not below `b`.
std::string subtract_digits(const std::string& a, const std::string& b) {
  std::string result(a.size(), '0');
  int borrow = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    const int digit = (a[i] - b[i]) - borrow;
    borrow = digit < 0 ? 1 : 0;
    result[i] = static_cast<char>('0' + digit + 10 * borrow);
  }
  return result;
}

}  // namespace

Decimal::Decimal(bool negative, std::string digits, std::int64_t exponent)
    : negative_(negative), digits_(std::move(digits)), exponent_(exponent) {}

Result<Decimal> Decimal::checked(bool negative, std::string digits, std::int64_t exponent) {
  const std::size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) return Decimal();
  exponent += static_cast<std::int64_t>(digits.size() - last - 1);
  digits.resize(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  if (exponent < -kPlacesMax || exponent + static_cast<std::int64_t>(digits.size()) > kPlacesMax) {
    return fail(ErrorCode::kExhausted,
                "a number has a digit more than " + std::to_string(kPlacesMax) + " places from its point");
  }
  return Decimal(negative, std::move(digits), exponent);
}

Result<Decimal> Decimal::parse(std::string_view text) {
  const std::optional<Spelled> spelled = spell(text);
  if (!spelled)
    return fail(ErrorCode::kInvalid, "\"" + one_line(text, kShownMax) + "\" does not spell a number");
  std::string digits(spelled->whole);
  digits += spelled->fraction;
  return checked(spelled->negative, std::move(digits),
                 spelled->exponent - static_cast<std::int64_t>(spelled->fraction.size()));
}

Result<Decimal> Decimal::of(const Value& value) {
  if (const auto text = value.as_number_text()) return parse(*text);
  if (const auto text = value.as_string()) return parse(*text);
  return fail(ErrorCode::kInvalid, std::string("should be a number, is ") + kind_name(value.kind()));
}

Result<Decimal> Decimal::sum(const Decimal& a, const Decimal& b) {
  const std::int64_t exponent = std::min(a.exponent_, b.exponent_);
  std::string left = a.digits_ + zeros(a.exponent_ - exponent);
  std::string right = b.digits_ + zeros(b.exponent_ - exponent);
  const std::size_t size = std::max(left.size(), right.size());
  left.insert(0, size - left.size(), '0');
  right.insert(0, size - right.size(), '0');
  if (a.negative_ == b.negative_) return checked(a.negative_, add_digits(left, right), exponent);
  if (left >= right) return checked(a.negative_, subtract_digits(left, right), exponent);
  return checked(b.negative_, subtract_digits(right, left), exponent);
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative_ != other.negative_) {
    return negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  std::strong_ordering larger = std::strong_ordering::equal;  // by distance from zero
  if (digits_.empty() || other.digits_.empty()) {
    larger = digits_.size() <=> other.digits_.size();
  } else if (top() != other.top()) {
    larger = top() <=> other.top();
  } else {
    larger = digits_.compare(other.digits_) <=> 0;  // no zeros at the ends, so a prefix is smaller
  }
  return negative_ ? 0 <=> larger : larger;
}

std::string Decimal::text() const {
  if (digits_.empty()) return "0";
  const std::string sign = negative_ ? "-" : "";
  if (exponent_ >= 0 && top() <= kPlainMax) return sign + digits_ + zeros(exponent_);
  if (exponent_ < 0 && exponent_ >= -kPlainMax && top() <= kPlainMax) {
    const std::string padded = zeros(1 - top()) + digits_;
    const std::size_t point = padded.size() - static_cast<std::size_t>(-exponent_);
    return sign + padded.substr(0, point) + "." + padded.substr(point);
  }
  const std::string fraction = digits_.size() > 1 ? "." + digits_.substr(1) : "";
  return sign + digits_.front() + fraction + "e" + std::to_string(top() - 1);
}

}  // namespace casemate::json
