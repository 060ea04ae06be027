// Makes a Program of a document. One use, one thread.
//
// First every schema in the document becomes a node, keyword by keyword (keywords.cc). Then the references
// are followed, which may point at any of them. Last, the schemas that apply to one value because others
// refer to them are counted: a circle among those would never end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/node.h"
#include "schema/place.h"
#include "schema/schema.h"

namespace casemate::schema {

enum class Dialect {
  k2020,  // draft 2020-12
  k07,    // draft-07, as far as its keywords mean the same there
};

class Compiler {
 public:
  explicit Compiler(Program& program) : program_(program), follower_(program.document) {}

  // Fills program.nodes and program.patterns. What is wrong with program.document; nothing: it is compiled.
  std::vector<Fault> run();

 private:
  using Value = json::Value;
  using Handler = void (Compiler::*)(Node&, const Value&);
  struct Keyword {
    std::string_view name;
    Handler handler = nullptr;
    bool in_07 = false;
  };
  static const Keyword* find_keyword(std::string_view name);

  void fault(std::string_view keyword, const std::string& message);
  bool is_full() const { return faults_.size() >= kFaultsMax; }

  // A schema and all below it.
  NodeId schema(const Value& value);
  void keyword(Node& node, std::string_view name, const Value& value);
  void unknown(std::string_view name);

  // Each handler takes the value of its keyword.
  void ignore(Node& node, const Value& value);
  void annotation_text(Node& node, const Value& value);
  void dialect(Node& node, const Value& value);
  void id(Node& node, const Value& value);
  void anchor(Node& node, const Value& value);
  void definitions(Node& node, const Value& value);
  void ref(Node& node, const Value& value);
  void type(Node& node, const Value& value);
  void enumeration(Node& node, const Value& value);
  void constant(Node& node, const Value& value);
  void format(Node& node, const Value& value);
  void multiple_of(Node& node, const Value& value);
  template <std::optional<Decimal> NumberRules::*Member>
  void bound(Node& node, const Value& value);
  template <std::optional<Count> StringRules::*Member>
  void length(Node& node, const Value& value);
  template <std::optional<Count> ArrayRules::*Member>
  void array_count(Node& node, const Value& value);
  template <std::optional<Count> ObjectRules::*Member>
  void object_count(Node& node, const Value& value);
  void pattern(Node& node, const Value& value);
  void items(Node& node, const Value& value);
  void prefix_items(Node& node, const Value& value);
  void unique_items(Node& node, const Value& value);
  void contains(Node& node, const Value& value);
  void properties(Node& node, const Value& value);
  void pattern_properties(Node& node, const Value& value);
  template <std::optional<NodeId> ObjectRules::*Member>
  void object_schema(Node& node, const Value& value);
  void required(Node& node, const Value& value);
  void dependent_required(Node& node, const Value& value);
  void dependent_schemas(Node& node, const Value& value);
  template <std::vector<NodeId> Logic::*Member>
  void branches(Node& node, const Value& value);
  template <std::optional<NodeId> Logic::*Member>
  void branch(Node& node, const Value& value);

  bool expect(const Value& value, Value::Kind kind);
  std::optional<Decimal> decimal(const Value& value);
  std::optional<Count> count(const Value& value);
  std::optional<std::string> equal_text(const Value& value);
  std::optional<std::size_t> compile_pattern(std::string_view text);
  // A list of strings, each once.
  std::optional<std::vector<std::string_view>> names(const Value& value);
  std::vector<NodeId> schemas(const Value& value);
  std::vector<std::pair<std::string_view, NodeId>> named_schemas(const Value& value);

  void resolve_refs();
  std::optional<NodeId> target_of(std::string_view reference);
  void check_chains();

  struct PendingRef {
    NodeId from = 0;
    std::string_view reference;
    std::string place;
  };

  Program& program_;
  Follower follower_;
  Place place_;
  std::string_view keyword_;  // the one being looked at
  Dialect dialect_ = Dialect::k2020;
  std::string_view base_;  // the root's $id without a fragment
  std::vector<Fault> faults_;
  std::unordered_map<const Value*, NodeId> nodes_;
  std::unordered_map<std::string_view, NodeId> anchors_;
  std::vector<PendingRef> refs_;
  std::unordered_map<std::string_view, std::size_t> patterns_;
  std::size_t patterns_size_ = 0;
};

// Schemas that apply to the same value as this one does.
std::vector<NodeId> in_place(const Node& node);

}  // namespace casemate::schema
