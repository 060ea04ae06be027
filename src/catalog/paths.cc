#include "catalog/paths.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "schema/python_name.h"

namespace casemate::catalog {
namespace {

// What the object `tools` in a box has beside capabilities.
bool is_taken(std::string_view part) { return part == "search" || part == "call"; }

struct Part {
  std::map<std::string_view, std::unique_ptr<Part>> below;
  std::string path;
};

// A text whose similar Python name begins with a letter and is not taken; python_names() makes it differ from
// others.
std::string askable(std::string_view part, bool at_root) {
  const char first = part.empty() ? '\0' : part.front();
  const bool is_letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  // A hyphen: it is no Python name itself, so that it does not push out one that is.
  if (!is_letter) return "x-" + std::string(part);
  return at_root && is_taken(part) ? std::string(part) + "-" : std::string(part);
}

// Does not recurse deeper than a name has parts, which kNameMax bounds.
void spell(Part& part, bool at_root) {
  std::vector<std::string> texts;
  for (const auto& [name, below] : part.below) texts.push_back(askable(name, at_root));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::vector<std::string> python = schema::python_names(views);
  std::size_t i = 0;
  for (const auto& [name, below] : part.below) {
    below->path = part.path + (part.path.empty() ? "" : ".") + python[i++];
    spell(*below, false);
  }
}

// Calls with each part of a name between its dots.
template <typename Call>
void for_each_part(std::string_view name, Call call) {
  for (;;) {
    const std::size_t dot = name.find('.');
    call(name.substr(0, dot));
    if (dot == std::string_view::npos) return;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

std::vector<std::string> python_paths(std::span<const std::string> names) {
  Part root;
  std::vector<const Part*> ends;
  for (const std::string& name : names) {
    Part* at = &root;
    for_each_part(name, [&](std::string_view part) {
      std::unique_ptr<Part>& below = at->below[part];
      if (!below) below = std::make_unique<Part>();
      at = below.get();
    });
    ends.push_back(at);
  }
  spell(root, true);
  std::vector<std::string> paths;
  paths.reserve(names.size());
  for (const Part* end : ends) paths.push_back(end->path);
  return paths;
}

}  // namespace casemate::catalog
