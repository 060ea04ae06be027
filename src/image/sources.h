// What the machine that builds has: packages, and what is at the paths that they own. Private to the
// image library.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "image/dpkg.h"
#include "image/layout.h"
#include "image/recipe.h"

namespace casemate::image {

// The packages of the image. Errors: unavailable, invalid.
Result<std::vector<Package>> read_packages(const Recipe& recipe);

struct Sources {
  Layout layout;                 // complete: parents, links, made files
  std::vector<Omitted> omitted;  // configuration files that somebody has edited or removed
};

// Errors: unavailable (a path of a package is missing, or is not what the package brought), invalid.
Result<Sources> read_sources(const Recipe& recipe, const std::vector<Package>& packages);

// Copies one file of the layout to `path` below `root`, holding it against its MD5 on the way.
// Returns its size. Errors: unavailable, naming the file and its package, when they differ.
Result<std::uint64_t> copy_file(const Recipe& recipe, const std::string& path, const Item& item, int root);

}  // namespace casemate::image
