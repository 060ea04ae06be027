// How Python spells the names of capabilities.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace casemate::catalog {

// For each of `names`, which must be sorted and differ, its path below "tools": Python names with dots
// between, as many as the name has parts between dots. No two are the same. A part keeps its spelling where
// Python and we have no other use for it: "ledger.read". Else it has one that is like it: "git-hub.2nd" is
// "git_hub.x_2nd", and "search", which tools has itself, is "search_". What one part of a namespace is called
// says nothing of another.
std::vector<std::string> python_paths(std::span<const std::string> names);

}  // namespace casemate::catalog
