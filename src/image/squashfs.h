// The root of an image as a squashfs: what a virtual machine has as its disk. It stands beside the root that
// it was made of (store.h) and is made once, when it is first asked for.
//
// The image's digest says nothing of it, and nobody reads it again: like the image it belongs to the user or
// to root and can be written by its owner alone. The same root gives the same bytes with the same mksquashfs.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "image/progress.h"
#include "image/store.h"

namespace casemate::image {

struct SquashfsOptions {
  Deadline deadline = Deadline::in(milliseconds{15 * 60'000});
  unsigned threads = 2;  // that check the image before
  std::string program = "/usr/bin/mksquashfs";
};

// The absolute path of the image's squashfs, STORE/sha256/HEX/rootfs.squashfs, which is whole and on disk.
// Where it is there already this is one system call. Else the image is compared with its digest first, and
// other writers of the store are waited for.
// Errors: unavailable (no mksquashfs; a store that this user cannot write: says who makes it, and how; an
// image that is damaged; a squashfs that others can write), deadline, system. On an error the store is as it
// was.
Result<std::string> ensure_squashfs(const ImageInfo& image, const SquashfsOptions& options,
                                    Progress& progress);

}  // namespace casemate::image
