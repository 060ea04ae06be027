// What a schema is compiled to. Only this library looks inside.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"
#include "schema/number.h"
#include "schema/pattern.h"

namespace casemate::schema {

using NodeId = std::uint32_t;  // of Program::nodes
using Count = std::uint64_t;

// Bits of Node::types.
enum Type : unsigned {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeInteger = 4,
  kTypeNumber = 8,
  kTypeString = 16,
  kTypeArray = 32,
  kTypeObject = 64,
};

struct NumberRules {
  std::optional<Decimal> minimum;
  std::optional<Decimal> maximum;
  std::optional<Decimal> exclusive_minimum;
  std::optional<Decimal> exclusive_maximum;
  std::optional<Decimal> multiple_of;
};

struct StringRules {
  std::optional<Count> min_length;  // code points, here and below
  std::optional<Count> max_length;
  std::optional<std::size_t> pattern;  // of Program::patterns
};

struct ArrayRules {
  std::vector<NodeId> prefix;
  std::optional<NodeId> items;
  std::optional<NodeId> contains;
  std::optional<Count> min_contains;
  std::optional<Count> max_contains;
  std::optional<Count> min_items;
  std::optional<Count> max_items;
  bool unique = false;
};

// Keys and names are views into the Program's document.
struct ObjectRules {
  std::vector<std::pair<std::string_view, NodeId>> properties;  // sorted
  std::vector<std::pair<std::size_t, NodeId>> patterns;         // the first of Program::patterns
  std::optional<NodeId> additional;
  std::optional<NodeId> names;
  std::vector<std::string_view> required;
  std::optional<Count> min_properties;
  std::optional<Count> max_properties;
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> dependent_required;
  std::vector<std::pair<std::string_view, NodeId>> dependent_schemas;
};

// Schemas that apply to the same value.
struct Logic {
  std::optional<NodeId> ref;
  std::vector<NodeId> all_of;
  std::vector<NodeId> any_of;
  std::vector<NodeId> one_of;
  std::optional<NodeId> negated;
  std::optional<NodeId> condition;  // if
  std::optional<NodeId> then;
  std::optional<NodeId> otherwise;
};

struct Node {
  const json::Value* source = nullptr;  // in the Program's document; a boolean or an object
  std::optional<bool> boolean;          // of a boolean schema: nothing else is set
  unsigned types = 0;                   // 0 when the schema does not say
  // Canonical texts, sorted. A schema that has both enum and const has two lists.
  std::optional<std::vector<std::string>> enumeration;
  std::optional<std::string> constant;
  bool decimal = false;  // format: decimal
  // nullptr where the schema has no such keyword.
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<StringRules> string;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<Logic> logic;
};

// Immutable once compiled.
struct Program {
  json::Value document;
  std::deque<Node> nodes;  // the root first
  std::vector<Pattern> patterns;
};

}  // namespace casemate::schema
