// Building an image: from a recipe and the packages that are installed on this machine into a store.
//
// The files are copied, never linked: a box must not share pages with what runs outside of it. Every
// regular file is held against the MD5 that dpkg recorded for it. The same packages and the same recipe give
// the same digest on every machine.
//
//   resolve   which packages (dpkg.h), which of their files (layout.h)
//   copy      each file, checked; directories, links, made files
//   unpack    files of a package that is not installed (unpacked.h), where the recipe has one
//   steps     what maintainer scripts do elsewhere, run in the image (inside.h)
//   seal      modes and times; manifest; digest; publish (store.h)
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "image/progress.h"
#include "image/recipe.h"
#include "image/store.h"

namespace casemate::image {

struct BuildOptions {
  bool force = false;      // build even if the store has this image of these packages
  std::int64_t now_s = 0;  // seconds since 1970, for `about`
  unsigned threads = 2;    // that copy and hash
  milliseconds lock_wait{15 * 60'000};
  milliseconds step_wait{10 * 60'000};  // for each step
};

struct Built {
  ImageInfo image;
  About about;
  bool reused = false;  // it was there already
};

// Errors: unavailable (packages missing or not to be fetched, a file that differs from its package, a step
// that fails, a store that cannot be written, a recipe for another architecture), invalid (dpkg's database, a
// package file), deadline, system. On an error the store is
// as it was.
Result<Built> build(const Store& store, const Recipe& recipe, const BuildOptions& options,
                    Progress& progress);

}  // namespace casemate::image
