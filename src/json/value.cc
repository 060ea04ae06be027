#include "json/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <utility>

namespace casemate::json {
namespace {

// The largest double has 309 digits.
constexpr std::size_t kDoubleDigitsMax = 320;

bool is_integer_text(std::string_view text) { return text.find_first_of(".eE") == std::string_view::npos; }

// Numbers can be long: a message shows their beginning.
std::string shown(std::string_view text) {
  constexpr std::size_t kShownMax = 40;
  return text.size() <= kShownMax ? std::string(text) : std::string(text.substr(0, kShownMax)) + "…";
}

template <std::integral T>
Result<T> parse_integer(std::string_view text, const char* range) {
  if (!is_integer_text(text)) {
    return fail(ErrorCode::kInvalid, shown(text) + " is not written as an integer");
  }
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || after != end) {
    return fail(ErrorCode::kInvalid, shown(text) + " does not fit: it must be " + range);
  }
  return value;
}

// Whether the double is exactly the integer that `text` spells.
bool is_exact(double value, std::string_view text) {
  std::array<char, kDoubleDigitsMax> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, 0);
  return error == std::errc{} &&
         std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())) == text;
}

bool is_zero_text(std::string_view text) {
  return text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == std::string_view::npos;
}

}  // namespace

const char* kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNull: return "null";
    case Value::Kind::kBoolean: return "a boolean";
    case Value::Kind::kNumber: return "a number";
    case Value::Kind::kString: return "a string";
    case Value::Kind::kArray: return "an array";
    case Value::Kind::kObject: return "an object";
  }
  return "unknown";
}

Value::Value() = default;
Value::Value(Content content) : content_(std::move(content)) {}
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::boolean(bool truth) { return Value(Content(truth)); }
Value Value::number(std::string text) { return Value(Content(Number{std::move(text)})); }
Value Value::string(std::string text) { return Value(Content(std::move(text))); }
Value Value::array(std::vector<Value> items) { return Value(Content(std::move(items))); }
Value Value::object(std::vector<Member> members) { return Value(Content(std::move(members))); }

tl::unexpected<Error> Value::not_a(Kind wanted) const {
  return fail(ErrorCode::kInvalid,
              std::string("should be ") + kind_name(wanted) + ", is " + kind_name(kind()));
}

Result<bool> Value::as_boolean() const {
  if (const bool* truth = std::get_if<bool>(&content_)) return *truth;
  return not_a(Kind::kBoolean);
}

Result<std::string_view> Value::as_string() const {
  if (const std::string* text = std::get_if<std::string>(&content_)) return std::string_view(*text);
  return not_a(Kind::kString);
}

Result<std::string_view> Value::as_number_text() const {
  if (const Number* number = std::get_if<Number>(&content_)) return std::string_view(number->text);
  return not_a(Kind::kNumber);
}

Result<std::int64_t> Value::as_int64() const {
  return parse_integer<std::int64_t>(TRY(as_number_text()), "-2^63 to 2^63-1");
}

Result<std::uint64_t> Value::as_uint64() const {
  return parse_integer<std::uint64_t>(TRY(as_number_text()), "0 to 2^64-1");
}

Result<double> Value::as_double() const {
  const std::string_view text = TRY(as_number_text());
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  // Not every library reports a result that became infinite or zero as out of range.
  if (error != std::errc{} || after != end || !std::isfinite(value) || (value == 0 && !is_zero_text(text))) {
    return fail(ErrorCode::kInvalid, shown(text) + " is beyond what a double can hold");
  }
  if (is_integer_text(text) && !is_exact(value, text)) {
    return fail(ErrorCode::kInvalid, shown(text) + " would be rounded: no double is exactly this integer");
  }
  return value;
}

std::span<const Value> Value::items() const {
  const auto* items = std::get_if<std::vector<Value>>(&content_);
  return items == nullptr ? std::span<const Value>() : std::span<const Value>(*items);
}

std::span<const Member> Value::members() const {
  const auto* members = std::get_if<std::vector<Member>>(&content_);
  return members == nullptr ? std::span<const Member>() : std::span<const Member>(*members);
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

}  // namespace casemate::json
