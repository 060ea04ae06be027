// A TOML file (1.0) as a tree in which everything knows its place.
//
// toml++ reads the text; its headers stay behind document.cc. A reader of TOML cannot go on after text that
// is no TOML, so then there is one mistake, the first. What a well-formed file says wrongly is found by
// table.h, all of it together.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace casemate::toml {

// Counted from 1; columns in characters.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  auto operator<=>(const Place&) const = default;
};

struct Mistake {
  Place place;
  std::string what;  // one line, for a person; what it cites of the file is escaped
};

// What is wrong with one file. Keeps the first kKept and counts the others.
class Mistakes {
 public:
  static constexpr std::size_t kKept = 100;

  void add(Place place, std::string what);
  bool empty() const { return kept_.empty(); }
  // In the order of their places; past kKept the last one says how many more there are.
  std::vector<Mistake> list() const;

 private:
  std::vector<Mistake> kept_;
  std::size_t more_ = 0;
};

// A string of the file, and where in the file its characters are.
struct Text {
  std::string text;          // UTF-8; may hold NUL, which TOML can escape
  Place place;               // of its first quote, or of a bare key
  Place body;                // of its first character
  std::size_t verbatim = 0;  // so many bytes of `text` stand in the file as they are; then comes an escape

  // Where the byte `offset` of `text` is; behind an escape, where the string begins.
  Place at(std::size_t offset) const;
};

struct Entry;

// Owns everything below it. Immutable once read.
struct Node {
  enum class Kind : unsigned char { kString, kInteger, kFloat, kBoolean, kTime, kArray, kTable };

  Kind kind = Kind::kTable;
  Place place;
  Text text;                   // kString
  std::int64_t integer = 0;    // kInteger
  bool truth = false;          // kBoolean
  std::vector<Node> items;     // kArray
  std::vector<Entry> entries;  // kTable: in the order of the file, each key once
};

struct Entry {
  Text key;
  Node value;
};

// "a string", "an integer", "a fraction", "a boolean", "a date or time", "a list", "a table".
const char* kind_name(Node::Kind kind);

// A piece of a file as it may be shown in a message: one line, bounded, controls escaped.
std::string shown(std::string_view text);

struct ReadLimits {
  std::size_t bytes_max = std::size_t{256} << 10;
  std::size_t depth_max = 16;     // lists and inline tables in each other
  std::size_t key_parts_max = 8;  // "a.b.c" has three
};

// Reads a whole file. Nothing when it is not TOML or is beyond a limit: then `mistakes` has one more. Bytes
// that are not UTF-8 and NUL are refused. Takes time n log n, and a stack that the limits bound.
std::optional<Node> read(std::string_view text, const ReadLimits& limits, Mistakes& mistakes);

}  // namespace casemate::toml
