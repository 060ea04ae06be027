// /tools: what the capabilities of a run look like, as files of its box. One typed stub for each, which a
// program reads as it reads any file; it can change none.
//
// The tree is part of what is layered over every image, so a box needs nothing for it that it does not have
// already. It is written once for each tools file and kept (a cache: it may be removed at any time when
// nobody uses it).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "sys/fd.h"

namespace casemate::engine {

inline constexpr std::size_t kTreesKept = 16;  // of others, those that were used last

struct ToolsTree {
  std::string path;  // the guest tree with tools/ in it
  sys::Fd in_use;    // keeps others from removing it
};

// `guest_tree` with the catalog's files in it, below the directory `cache`, which is made. `version` says all
// that the files depend on but the guest tree: equal ones have equal files. Errors: system.
Result<ToolsTree> tools_tree(const std::string& guest_tree, const catalog::Catalog& catalog,
                             std::string_view version, const std::string& cache);

}  // namespace casemate::engine
