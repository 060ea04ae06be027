// A tree in memory that takes a LayerTree's changes and says which of them a disk would not. For tests and
// fuzzing.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "image/layer_tree.h"

namespace casemate::image {

class TreeInMemory {
 public:
  // Empty, or what is impossible about the change.
  std::string apply(const TreeChange& change) {
    const std::string& path = change.path;
    if (!is_image_path(path) || path == "/") return "a path that no image has: " + path;
    const auto parent = entries_.find(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
    if (parent == entries_.end() || parent->second != "d") return "no directory holds " + path;
    const auto there = entries_.find(path);
    using Kind = TreeChange::Kind;
    if (change.kind == Kind::kRemove || change.kind == Kind::kRemoveDirectory) {
      if (there == entries_.end()) return "not there: " + path;
      if ((there->second == "d") != (change.kind == Kind::kRemoveDirectory)) return "another type: " + path;
      const auto child = entries_.lower_bound(path + "/");
      if (child != entries_.end() && child->first.starts_with(path + "/")) return "not empty: " + path;
      entries_.erase(there);
      return "";
    }
    if (there != entries_.end()) return "there already: " + path;
    if (change.kind == Kind::kCopy) {
      const auto from = entries_.find(change.target);
      if (from == entries_.end() || !from->second.starts_with('f')) return "a copy of no file: " + path;
    }
    entries_[path] = change.kind == Kind::kDirectory ? "d"
                     : change.kind == Kind::kLink    ? "l " + change.target
                     : change.executable             ? "fx"
                                                     : "f";
    return "";
  }

  // "d", "f", "fx" (executable) or "l TARGET", by path.
  const std::map<std::string, std::string>& entries() const { return entries_; }

 private:
  std::map<std::string, std::string> entries_ = {{"/", "d"}};
};

}  // namespace casemate::image
