// Fetching a package's file with apt and taking files out of it, without installing it. Private to the image
// library.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "image/deb.h"
#include "image/progress.h"
#include "image/recipe.h"
#include "sys/fd.h"

namespace casemate::image {

// Which package file the recipe's unpacked package comes to: apt's candidate now, or the given one.
// Errors: unavailable (apt does not know it: says what to do), invalid (the given file is not such a
// package), deadline.
Result<PackageFile> resolve_unpacked(const Recipe& recipe, Deadline deadline);

// Fetches the file into the draft, holds it against its SHA-256, takes the recipe's files into `root`, where
// their directories are, and removes it again. As root, apt fetches as a user of its own.
// Errors: unavailable (it cannot be fetched: says what to do; another file than apt's lists say), invalid
// (damaged, a file is missing), exhausted (more than bytes_max), deadline.
Result<void> take_unpacked(const Recipe& recipe, const PackageFile& file, const sys::Fd& draft,
                           const sys::Fd& root, Deadline deadline, Progress& progress);

}  // namespace casemate::image
