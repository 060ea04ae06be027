// What a program in a box may read of a capability: a typed Python stub, and one line for a list.
//
// Everything comes from whoever describes the capability, who may be anybody: names that are no Python names,
// texts that try to end the string they stand in, schemas without end. What comes out is Python that
// compiles, says nothing but what the schema says, and is bounded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace casemate::schema {

inline constexpr std::size_t kStubTextMax = 2000;       // bytes of one description that are shown
inline constexpr std::size_t kStubParametersMax = 100;  // shown; the others are "**more"
inline constexpr std::size_t kStubFieldsMax = 60;       // shown of one object
inline constexpr std::size_t kStubClassesMax = 40;      // objects with fields; deeper ones are dict[str, Any]
inline constexpr std::size_t kStubDepthMax = 5;         // objects and arrays in each other
inline constexpr std::size_t kSignatureMax = 240;       // bytes of a signature

// All of it must live for the call.
struct StubSource {
  std::string_view name;               // as policy and audit know it: "ledger.read"
  std::string_view path;               // how programs spell it after "tools.": Python names with dots between
  std::string_view description;        // may be empty, and may hold anything that is UTF-8
  std::span<const std::string> notes;  // lines of ours to put after it, such as what the call costs
  const Schema* parameters =
      nullptr;                     // of the object whose members are the arguments; nullptr: anything goes
  const Schema* result = nullptr;  // nullptr: it may be anything
};

// The text of a .pyi file: classes for the objects in it, one function, whose docstring tells of each
// parameter.
std::string python_stub(const StubSource& source);

// "tools.ledger.read(*, tenant: str, limit: int = 100) -> list[dict]": on one line, at most kSignatureMax
// bytes, optional parameters left out first.
std::string python_signature(const StubSource& source);

// How each parameter is spelled in Python where its name is no Python name. The bridge maps them back.
struct Parameter {
  std::string name;    // as the schema has it: "from"
  std::string python;  // "from_"
  bool required = false;
};
// The ones that must be given first, then in the order of the schema. No two have the same spelling.
std::vector<Parameter> parameters_of(const Schema& parameters);

}  // namespace casemate::schema
