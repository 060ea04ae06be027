#include "image/layout.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>

namespace casemate::image {
namespace {

constexpr std::array<std::string_view, 6> kMerged = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
constexpr int kLinksFollowedMax = 40;  // as the kernel: path_resolution(7)

bool is_wanted(const std::string& path, const std::vector<std::string>& only,
               const std::vector<Exclusion>& exclusions) {
  const bool named = only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& pattern) {
                       return matches(pattern, path);
                     });
  return named && std::none_of(exclusions.begin(), exclusions.end(),
                               [&](const Exclusion& exclusion) { return matches(exclusion.pattern, path); });
}

// Where the file that `package` calls `path` is on the machine, and what it is called in the image.
struct Place {
  std::string source;
  std::string path;
};

Place place_of(const std::string& path, const std::string& package, const std::vector<Diversion>& diversions,
               const std::set<std::string>& in_image) {
  for (const Diversion& diversion : diversions) {
    if (merge_usr(diversion.from) != merge_usr(path) || diversion.package == package) continue;
    // Diverted away by a package that the image has: it stays away there too.
    if (in_image.contains(diversion.package)) return {diversion.to, merge_usr(diversion.to)};
    return {diversion.to, merge_usr(path)};
  }
  return {path, merge_usr(path)};
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::deque<std::string> names_of(std::string_view path) {
  std::deque<std::string> names;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    if (end != 0) names.emplace_back(path.substr(0, end));
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
  return names;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& path) {
  return ::fnmatch(pattern.c_str(), path.c_str(), 0) == 0;
}

std::string merge_usr(std::string_view path) {
  for (const std::string_view top : kMerged) {
    if (path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/')) {
      return "/usr" + std::string(path);
    }
  }
  return std::string(path);
}

Result<std::vector<PackagedPath>> plan_paths(const std::vector<PackageFiles>& packages,
                                             const std::vector<Diversion>& diversions,
                                             const std::vector<std::string>& only,
                                             const std::vector<Exclusion>& exclusions) {
  std::set<std::string> in_image;
  for (const PackageFiles& package : packages) in_image.insert(package.package);
  std::map<std::string, PackagedPath> planned;
  for (const PackageFiles& package : packages) {
    for (const std::string& listed : package.paths) {
      // "/bin" is a directory to a package, and a link on the machine and in the image.
      if (std::find(kMerged.begin(), kMerged.end(), listed) != kMerged.end()) continue;
      Place place = place_of(listed, package.package, diversions, in_image);
      if (!is_image_path(place.path)) {
        return fail(ErrorCode::kInvalid,
                    package.package + " lists a path that an image cannot have: " + listed);
      }
      if (!is_wanted(place.path, only, exclusions)) continue;
      PackagedPath item{place.path, std::move(place.source), "", package.package, false};
      if (const auto conffile = package.conffiles.find(listed); conffile != package.conffiles.end()) {
        item.md5 = conffile->second;
        item.conffile = true;
      } else if (const auto sum = package.md5s.find(listed); sum != package.md5s.end()) {
        item.md5 = sum->second;
      }
      const auto [at, added] = planned.emplace(item.path, item);
      if (!added && !(at->second.md5.empty() && item.md5.empty())) {
        return fail(ErrorCode::kInvalid,
                    "both " + at->second.package + " and " + item.package + " own " + item.path);
      }
    }
  }
  std::vector<PackagedPath> paths;
  for (auto& [path, item] : planned) paths.push_back(std::move(item));
  return paths;
}

void add_alternatives(const std::vector<Alternative>& alternatives, Layout& layout) {
  const auto link = [&](const AlternativeLink& which, const std::string& target) {
    const std::string by_name = "/etc/alternatives/" + which.name;
    layout.try_emplace(by_name, make_link(target));
    layout.try_emplace(merge_usr(which.link), make_link(by_name));
  };
  for (const Alternative& alternative : alternatives) {
    const AlternativeChoice* best = nullptr;
    for (const AlternativeChoice& choice : alternative.choices) {
      if (!layout.contains(merge_usr(choice.path))) continue;
      if (best == nullptr || choice.priority > best->priority) best = &choice;
    }
    if (best == nullptr) continue;
    link(alternative.master, best->path);
    for (std::size_t i = 0; i < alternative.slaves.size() && i < best->slaves.size(); ++i) {
      const std::string& path = best->slaves[i];
      if (!path.empty() && layout.contains(merge_usr(path))) link(alternative.slaves[i], path);
    }
  }
}

Result<void> add_parents(Layout& layout) {
  std::set<std::string> parents;
  for (const auto& [path, item] : layout) {
    for (std::string_view at = path; at != "/";) {
      at = parent_of(at);
      if (!parents.emplace(at).second) break;
    }
  }
  for (const std::string& parent : parents) {
    const auto [at, added] = layout.try_emplace(parent, Item{});
    if (at->second.type != EntryType::kDirectory) {
      return fail(ErrorCode::kInvalid, parent + " is not a directory, but a package has files below it");
    }
  }
  return {};
}

bool leads_somewhere(const Layout& layout, std::string_view path) {
  std::deque<std::string> names = names_of(path);
  std::string at = "/";
  int followed = 0;
  while (!names.empty()) {
    const std::string name = std::move(names.front());
    names.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      at = parent_of(at);
      continue;
    }
    const std::string next = at == "/" ? "/" + name : at + "/" + name;
    const auto found = layout.find(next);
    if (found == layout.end()) return false;
    if (found->second.type == EntryType::kLink) {
      if (++followed > kLinksFollowedMax) return false;
      const std::string& target = found->second.content;
      if (target.starts_with('/')) at = "/";
      const std::deque<std::string> more = names_of(target);
      names.insert(names.begin(), more.begin(), more.end());
      continue;
    }
    if (found->second.type == EntryType::kFile && !names.empty()) return false;
    at = next;
  }
  return true;
}

void drop_dangling_links(Layout& layout) {
  for (bool again = true; again;) {
    again = std::erase_if(layout, [&](const auto& entry) {
              const Item& item = entry.second;
              return item.type == EntryType::kLink && !item.kept && !leads_somewhere(layout, entry.first);
            }) > 0;
  }
}

}  // namespace casemate::image
