#include "bridge/toolbox.h"

#include <set>

#include "base/limits.h"
#include "json/value.h"

namespace casemate::bridge {
namespace {

constexpr int kTypedDepthMax = 16;

// A JSON pointer's escapes.
std::string pointer_part(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

// A local reference; nullptr for any other.
const json::Value* referred(const json::Value& root, std::string_view reference) {
  if (!reference.starts_with("#/$defs/")) return nullptr;
  const json::Value* definitions = root.find("$defs");
  return definitions == nullptr ? nullptr : definitions->find(reference.substr(8));
}

class TypedPlaces {
 public:
  explicit TypedPlaces(const json::Value& root) : root_(root) {}
  std::vector<std::string> take() && { return {found_.begin(), found_.end()}; }

  void look(const json::Value& schema, const std::string& place, int depth) {
    if (depth > kTypedDepthMax || found_.size() >= kTypedPlacesMax) return;
    if (says(schema, "format", "decimal")) found_.insert("decimal " + place);
    if (says(schema, "contentEncoding", "base64")) found_.insert("bytes " + place);
    if (const json::Value* reference = schema.find("$ref"); reference != nullptr && reference->as_string()) {
      if (const json::Value* target = referred(root_, *reference->as_string()))
        look(*target, place, depth + 1);
    }
    for (const char* key : {"allOf", "anyOf", "oneOf"}) {
      if (const json::Value* list = schema.find(key))
        for (const json::Value& one : list->items()) look(one, place, depth + 1);
    }
    if (const json::Value* properties = schema.find("properties"))
      for (const json::Member& one : properties->members())
        look(one.value, place + "/" + pointer_part(one.key), depth + 1);
    for (const char* key : {"items", "additionalProperties"})
      if (const json::Value* all = schema.find(key)) look(*all, place + "/*", depth + 1);
    if (const json::Value* list = schema.find("prefixItems")) {
      std::size_t index = 0;
      for (const json::Value& one : list->items())
        look(one, place + "/" + std::to_string(index++), depth + 1);
    }
  }

 private:
  static bool says(const json::Value& schema, std::string_view key, std::string_view text) {
    const json::Value* found = schema.find(key);
    return found != nullptr && found->as_string().value_or("") == text;
  }

  const json::Value& root_;
  std::set<std::string> found_;
};

}  // namespace

std::vector<std::string> typed_places(const json::Value& schema) {
  TypedPlaces places(schema);
  places.look(schema, "", 0);
  return std::move(places).take();
}

Result<Toolbox> Toolbox::make(std::vector<Tool> tools) {
  if (tools.size() > kToolsMax)
    return fail(ErrorCode::kInvalid, "more than " + std::to_string(kToolsMax) + " capabilities");
  std::vector<catalog::Capability> listed;
  for (const Tool& tool : tools)
    listed.push_back({tool.capability.name, tool.description, {}, tool.arguments, tool.result});
  Toolbox box;
  box.catalog_ = std::make_shared<const catalog::Catalog>(TRY(catalog::Catalog::make(std::move(listed))));
  for (Tool& tool : tools) {
    Granted granted;
    if (tool.arguments) granted.parameters = schema::parameters_of(*tool.arguments);
    if (tool.result) granted.typed = typed_places(tool.result->document());
    std::string name = tool.capability.name;
    granted.path = box.catalog_->path_of(*box.catalog_->find(name));
    granted.tool = std::move(tool);
    box.tools_.emplace(std::move(name), std::move(granted));
  }
  return box;
}

const Granted* Toolbox::find(std::string_view name) const {
  auto found = tools_.find(name);
  if (found == tools_.end() && catalog_ != nullptr) {
    const catalog::Capability* spelled = catalog_->find_path(name);
    if (spelled != nullptr) found = tools_.find(spelled->name);
  }
  return found == tools_.end() ? nullptr : &found->second;
}

std::vector<const Granted*> Toolbox::all() const {
  std::vector<const Granted*> all;
  for (const auto& [name, granted] : tools_) all.push_back(&granted);
  return all;
}

std::string signature_of(const Granted& granted) {
  schema::StubSource source;
  source.name = granted.tool.capability.name;
  source.path = granted.path;
  if (granted.tool.arguments) source.parameters = &*granted.tool.arguments;
  if (granted.tool.result) source.result = &*granted.tool.result;
  return schema::python_signature(source);
}

}  // namespace casemate::bridge
