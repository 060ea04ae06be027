// JSON Schema: a stated subset of draft 2020-12, compiled once and checked often. docs/schema.md lists it.
//
// What the subset does not have is an error when the schema is compiled, never passed over: an unknown
// keyword may be a check that its author relies on. Nothing is ever fetched: references stay within the
// document.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace casemate::schema {

inline constexpr std::size_t kSchemaValuesMax = 100'000;  // values and keys of one schema
inline constexpr std::size_t kSchemaPatternsMax = 256;
// Schemas that apply to one value because others refer to them: through $ref, allOf and their like.
inline constexpr std::size_t kSchemaChainMax = 64;
inline constexpr std::size_t kFaultsMax = 32;         // of one schema or one check
inline constexpr std::size_t kFaultMessageMax = 600;  // bytes

// One thing that is wrong with a document.
struct Fault {
  std::string place;    // a JSON pointer into the document; "" is its root. At most kPointerMax bytes
  std::string keyword;  // of JSON Schema, that asks for something else
  std::string message;  // one line of valid UTF-8 without controls: what should be, and what is
};

// "/items/3/amount: should be a number, is a string": one line that is safe to print. At the root, the
// message.
std::string line_of(const Fault& fault);
// The first fault and how many more there are, as invalid. `faults` must not be empty.
Error error_of(std::span<const Fault> faults);

struct Program;  // node.h

// Cheap to copy: copies share what was compiled, which never changes. Safe to use from any thread.
class Schema {
 public:
  using Compiled = tl::expected<Schema, std::vector<Fault>>;

  // Copies what it needs: `document` need not live on. Time n log n.
  // Else all that is wrong with the schema, up to kFaultsMax; places are in the schema. Never empty.
  [[nodiscard]] static Compiled compile(const json::Value& document);

  // As it was given, for its names and descriptions.
  const json::Value& document() const;
  const Program& program() const { return *program_; }

 private:
  explicit Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  // Shared: a capability's schema is held by the catalog that may be replaced while a check still runs.
  std::shared_ptr<const Program> program_;
};

}  // namespace casemate::schema
