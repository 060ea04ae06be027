#include "schema/shape.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace casemate::schema {
namespace {

constexpr std::size_t kFieldsPerVisit = 16;

class Gatherer {
 public:
  Gatherer(const Program& program, std::size_t& visits) : program_(program), visits_(visits) {}

  // Does not recurse deeper than kSchemaChainMax. `always`: the schema applies to every such object.
  void gather(NodeId id, bool always) {
    if (visits_ == 0) return;
    --visits_;
    const Node& node = program_.nodes[id];
    if (node.object) object(node, always);
    if (!node.logic) return;
    const Logic& logic = *node.logic;
    if (logic.ref) gather(*logic.ref, always);
    for (const NodeId one : logic.all_of) gather(one, always);
    for (const NodeId one : logic.any_of) gather(one, false);
    for (const NodeId one : logic.one_of) gather(one, false);
    if (logic.condition && logic.then) gather(*logic.then, false);
    if (logic.condition && logic.otherwise) gather(*logic.otherwise, false);
  }

  Shape take() { return std::move(shape_); }

 private:
  void object(const Node& node, bool always) {
    const ObjectRules& rules = *node.object;
    visits_ -= std::min(visits_, (rules.properties.size() + rules.required.size()) / kFieldsPerVisit);
    if (const json::Value* properties = node.source->find("properties")) {
      for (const json::Member& member : properties->members()) {
        const auto found =
            std::lower_bound(rules.properties.begin(), rules.properties.end(), member.key,
                             [](const auto& one, const std::string& key) { return one.first < key; });
        // false says that there is no such member.
        if (program_.nodes[found->second].boolean == std::optional(false)) continue;
        field(member.key, found->second, false);
      }
    }
    for (const std::string_view name : rules.required) field(name, std::nullopt, always);
    for (const auto& [name, id] : rules.dependent_schemas) gather(id, false);
    if (!rules.additional) return;
    const std::optional<bool> truth = program_.nodes[*rules.additional].boolean;
    if (!truth) shape_.additional = rules.additional;
    if (truth == std::optional(true)) shape_.open = true;
  }

  void field(std::string_view name, std::optional<NodeId> id, bool required) {
    const auto [found, is_new] = places_.emplace(name, shape_.fields.size());
    if (is_new) {
      shape_.fields.push_back({name, id, required});
      return;
    }
    Field& known = shape_.fields[found->second];
    if (!known.id) known.id = id;
    known.required = known.required || required;
  }

  const Program& program_;
  std::size_t& visits_;
  Shape shape_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

}  // namespace

Shape shape_of(const Program& program, NodeId id, std::size_t& visits) {
  Gatherer gatherer(program, visits);
  gatherer.gather(id, true);
  return gatherer.take();
}

}  // namespace casemate::schema
