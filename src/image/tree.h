// Trees of files in the store: reading them into a manifest, and removing them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/manifest.h"
#include "image/progress.h"
#include "sys/fd.h"

namespace casemate::image {

struct Scan {
  Manifest manifest;
  std::vector<Fault> oddities;  // devices, sockets, files with a second name or another owner
};

// Reads the tree below `root`, and its files' content when `depth` is full, with `threads` threads.
// Follows no link. Only the caller's thread calls `progress`.
// Errors: system, exhausted (more entries than a manifest may have).
Result<Scan> scan_tree(const sys::Fd& root, Depth depth, unsigned threads, Progress& progress);

// Gives every file, directory and link below `root` the mode and time that an image has: 0755 for
// directories and for files that anybody may execute, 0644 for other files, 1980-01-01 for all.
Result<void> normalise_tree(const sys::Fd& root);

// Removes `name` below `parent` with everything in it. Nothing there is success. Follows no link.
Result<void> remove_tree(const sys::Fd& parent, const std::string& name);

}  // namespace casemate::image
