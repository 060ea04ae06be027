// The members that an object may have, gathered from all the schemas that apply to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/node.h"

namespace casemate::schema {

struct Field {
  std::string_view name;     // a view into the Program's document
  std::optional<NodeId> id;  // nullopt: it is required, and nothing else is known
  bool required = false;     // always, not only with some alternative
};

struct Shape {
  std::vector<Field> fields;         // in the order of the schema
  std::optional<NodeId> additional;  // additionalProperties, when it is no boolean
  bool open = false;                 // additionalProperties: true
  bool is_object() const { return !fields.empty() || additional || open; }
};

// Looks through $ref, allOf, anyOf, oneOf, then, else and dependentSchemas. Visits at most `visits` schemas,
// which it counts down; what is beyond is left out.
Shape shape_of(const Program& program, NodeId id, std::size_t& visits);

}  // namespace casemate::schema
