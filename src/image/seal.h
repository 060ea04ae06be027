// The last steps to an image, wherever its files came from. Private to the image library.
#pragma once

#include "base/result.h"
#include "image/manifest.h"
#include "image/progress.h"
#include "image/store.h"
#include "sys/fd.h"

namespace casemate::image {

// Gives the files below `root`, the rootfs of the writer's draft, the modes and times of an image, hashes
// them, fills in what `about` says of them and of the digest, and publishes the image under `about.name`.
// Errors: internal (something that no image has: a device, a file with two names), exhausted (more than
// a manifest may hold), system, those of publish().
Result<ImageInfo> seal_image(StoreWriter& writer, const sys::Fd& root, About& about, unsigned threads,
                             Progress& progress);

}  // namespace casemate::image
