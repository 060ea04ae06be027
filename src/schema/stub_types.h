// Python types for schemas.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schema/node.h"
#include "schema/shape.h"

namespace casemate::schema {

// The names of one stub and the classes that were written for it. Shared by the types of its parameters and
// of its result.
class StubModule {
 public:
  // `function` is defined in the module and hides a builtin or a type of the same name.
  explicit StubModule(std::string_view function) : function_(function), names_{std::string(function)} {}

  // How the module spells list, str, Any, Decimal, …
  std::string spelling(std::string_view type) const;
  // The same, for a place where it is written: it will be imported.
  std::string spell(std::string_view type);
  // A class name that is not taken, and a place for the class. nullopt when there are enough.
  std::optional<std::string> add_class(std::string_view like);
  void define(std::string text) { definitions_.push_back(std::move(text)); }

  // "from typing import Any\n…", for what was spelled.
  std::string imports() const;
  const std::vector<std::string>& definitions() const { return definitions_; }

 private:
  std::string function_;
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> typing_;  // of the module typing
  bool decimal_ = false;
  bool builtins_ = false;
  std::vector<std::string> definitions_;
};

enum class Detail {
  kFull,   // classes for objects
  kBrief,  // "dict" and "list[dict]", no class
};

// Writes types of one Program into a module. One thread.
class TypeWriter {
 public:
  TypeWriter(const Program& program, StubModule& module, Detail detail)
      : program_(program), module_(module), detail_(detail) {}

  // A type for what the schema takes; "Any" where it says nothing, or too much. `like` names the class of an
  // object: "ReadFilter".
  std::string type(NodeId id, const std::string& like) { return type(id, like, 0); }
  Shape shape(NodeId id) { return shape_of(program_, id, visits_); }

 private:
  std::string type(NodeId id, const std::string& like, std::size_t depth);
  std::string by_kind(NodeId id, const std::string& like, std::size_t depth);
  std::string array(const Node& node, const std::string& like, std::size_t depth);
  std::string object(NodeId id, const std::string& like, std::size_t depth);
  std::string class_of(NodeId id, const Shape& shape, const std::string& like, std::size_t depth);
  std::optional<std::string> literal(const Node& node);
  std::string joined(std::vector<std::string> types);

  const Program& program_;
  StubModule& module_;
  Detail detail_;
  std::size_t visits_ = 2000;
  std::map<NodeId, std::string> classes_;
};

// "WriteRow" for "write_row", "Of2nd" for "2nd": a name for a class, whatever the text.
std::string class_name(std::string_view text);

// What a schema says of a value beside its type, on one line: its description, then bounds, format and
// default. Empty when it says nothing.
std::string remarks(const Program& program, NodeId id, std::size_t bytes_max);

}  // namespace casemate::schema
