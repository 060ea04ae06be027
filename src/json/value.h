// One JSON value as it was read: immutable, and cheap to walk. reader.h makes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace casemate::json {

struct Member;

// Owns everything below it. Move-only, so that no document is copied by accident; what it hands out
// lives as long as it does and does not move. Immutable, hence safe to read from any thread. Its
// destructor recurses no deeper than the document, which the reader bounds (kReaderDepthMax).
class Value {
 public:
  enum class Kind : unsigned char { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Value();  // null
  static Value boolean(bool truth);
  // `text` must be a number as RFC 8259 spells it.
  static Value number(std::string text);
  // `text` must be valid UTF-8.
  static Value string(std::string text);
  static Value array(std::vector<Value> items);
  // The keys must differ.
  static Value object(std::vector<Member> members);

  Value(Value&& other) noexcept;
  Value& operator=(Value&& other) noexcept;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value();

  Kind kind() const { return static_cast<Kind>(content_.index()); }

  // Errors of all these: invalid, when it is of another kind ("should be a string, is a number").
  Result<bool> as_boolean() const;
  // Valid UTF-8; may hold NUL characters.
  Result<std::string_view> as_string() const;
  // As it stands in the document, whatever its size: "-0", "1e400", "1.50".
  Result<std::string_view> as_number_text() const;
  // Integers are exact or an error (invalid): one with a fraction or an exponent ("1.0", "1e3") is none,
  // and one that the type cannot hold is never rounded or cut.
  Result<std::int64_t> as_int64() const;
  Result<std::uint64_t> as_uint64() const;
  // The nearest double, as every reader of JSON takes a fraction. Invalid where that would be a lie: no
  // finite double is near (1e400), only zero is (1e-400), or it is an integer that no double is
  // (9007199254740993).
  Result<double> as_double() const;

  // What an array or object holds, in the order of the document. Empty for every other kind: look at
  // kind() where that matters.
  std::span<const Value> items() const;
  std::span<const Member> members() const;
  // The member with this key, or nullptr: also when this is no object. Takes linear time.
  const Value* find(std::string_view key) const;

 private:
  struct Number {
    std::string text;
  };
  // In the order of Kind.
  using Content =
      std::variant<std::monostate, bool, Number, std::string, std::vector<Value>, std::vector<Member>>;
  explicit Value(Content content);
  tl::unexpected<Error> not_a(Kind wanted) const;

  Content content_;
};

// "null", "a boolean", "a number", "a string", "an array", "an object".
const char* kind_name(Value::Kind kind);

struct Member {
  std::string key;  // valid UTF-8
  Value value;
};

}  // namespace casemate::json
