// A small streaming JSON writer: typed, keys in call order, always valid JSON (RFC 8259).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace casemate::json {

inline constexpr std::size_t kWriterDepthMax = 64;

// Writes one JSON value. One thread. Misuse is a bug of ours and CHECKs: a value without a key in an
// object, a key in an array, a second top-level value, an end that does not match, a double that is
// not finite, more than kWriterDepthMax levels, take() before the value is whole. That a key comes
// twice in one object is the caller's to avoid.
class Writer {
 public:
  enum class Style {
    kCompact,  // no white space at all
    kPretty,   // two spaces a level, one member a line, "{}" and "[]" when empty
  };

  explicit Writer(Style style = Style::kCompact) : style_(style) {}

  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD. Control characters (C0, DEL and C1) are escaped, other
  // characters stay themselves.
  Writer& value(std::string_view text);
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  Writer& value(const char* text) { return value(std::string_view(text)); }
  // The shortest form that reads back as the same double. Must be finite.
  Writer& value(double number);
  Writer& null();
  // One that was read, its numbers in their own text. Its levels count with those around it.
  Writer& value(const Value& read);

  template <std::integral T>
  Writer& value(T number) {
    if constexpr (std::same_as<T, bool>) {
      return boolean(number);
    } else if constexpr (std::signed_integral<T>) {
      return integer(number);
    } else {
      return unsigned_integer(number);
    }
  }

  template <typename T>
  Writer& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // The finished text; the writer is spent.
  std::string take() &&;

 private:
  struct Level {
    bool object = false;
    bool empty = true;
    bool keyed = false;  // an object's key waits for its value
  };

  Writer& boolean(bool truth);
  Writer& integer(std::int64_t number);
  Writer& unsigned_integer(std::uint64_t number);
  Writer& raw(std::string_view text);
  void before_value();
  void close(bool object, char end);
  void new_line();
  void quoted(std::string_view text);

  Style style_;
  bool whole_ = false;
  std::vector<Level> levels_;
  std::string out_;
};

}  // namespace casemate::json
