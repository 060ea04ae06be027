#include "bridge/toolbox.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/near_names.h"
#include "base/split.h"
#include "json/value.h"
#include "schema/python_name.h"

namespace casemate::bridge {
namespace {

constexpr std::size_t kNearMost = 3;
constexpr int kTypedDepthMax = 16;

// The spelling of every name: each part between dots is a Python name that differs from its neighbours'.
class Spellings {
 public:
  void add(std::string_view name) {
    std::string above;
    for (const std::string& part : split(name, '.')) {
      parts_[above].insert(part);
      above += "." + part;
    }
  }
  std::string of(std::string_view name) {
    std::string above;
    std::string path;
    for (const std::string& part : split(name, '.')) {
      path += (path.empty() ? "" : ".") + spelled(above).at(part);
      above += "." + part;
    }
    return path;
  }

 private:
  using Parts = std::map<std::string, std::string, std::less<>>;
  const Parts& spelled(const std::string& above) {
    Parts& spelled = spelled_[above];
    if (!spelled.empty()) return spelled;
    const std::set<std::string>& parts = parts_[above];
    const std::vector<std::string_view> names(parts.begin(), parts.end());
    const std::vector<std::string> python = schema::python_names(names);
    for (std::size_t i = 0; i < names.size(); ++i) spelled.emplace(names[i], python[i]);
    return spelled;
  }

  std::map<std::string, std::set<std::string>> parts_;  // by what stands before them
  std::map<std::string, Parts> spelled_;
};

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
      if (const json::Value* target = referred(root_, *reference->as_string())) look(*target, place, depth + 1);
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
      for (const json::Value& one : list->items()) look(one, place + "/" + std::to_string(index++), depth + 1);
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
  Spellings spellings;
  for (const Tool& tool : tools) spellings.add(tool.capability.name);
  Toolbox box;
  for (Tool& tool : tools) {
    Granted granted;
    granted.path = spellings.of(tool.capability.name);
    if (tool.arguments) granted.parameters = schema::parameters_of(*tool.arguments);
    if (tool.result) granted.typed = typed_places(tool.result->document());
    granted.tool = std::move(tool);
    const std::string name = granted.tool.capability.name;
    const std::string path = granted.path;
    if (!box.tools_.emplace(name, std::move(granted)).second)
      return fail(ErrorCode::kInvalid, "there are two capabilities " + name);
    box.paths_.emplace(path, name);
  }
  return box;
}

const Granted* Toolbox::find(std::string_view name) const {
  if (const auto found = tools_.find(name); found != tools_.end()) return &found->second;
  const auto path = paths_.find(name);
  return path == paths_.end() ? nullptr : &tools_.find(path->second)->second;
}

std::vector<std::string> Toolbox::near(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& [path, of] : paths_) names.push_back(path);
  return near_names(name, names, kNearMost);
}

std::vector<const Granted*> Toolbox::all() const {
  std::vector<const Granted*> all;
  for (const auto& [name, granted] : tools_) all.push_back(&granted);
  return all;
}

schema::StubSource stub_source(const Granted& granted) {
  schema::StubSource source;
  source.name = granted.tool.capability.name;
  source.path = granted.path;
  source.description = granted.tool.description;
  if (granted.tool.arguments) source.parameters = &*granted.tool.arguments;
  if (granted.tool.result) source.result = &*granted.tool.result;
  return source;
}

}  // namespace casemate::bridge
