// Importing an image that somebody else made: an OCI image archive, a tar file of an OCI image layout, as
// `skopeo copy … oci-archive:FILE`, `podman save --format oci-archive` and Docker from version 25 write it.
//
//   collect   every blob into the draft, held against its digest (blobs.h, archive.h)
//   choose    index → manifest → config, each held against its descriptor (oci.h)
//   unpack    layer over layer: what changes (layer_tree.h), and doing it (disk_tree.h); each layer is held
//             against the digest of its unpacked bytes
//   complete  what a box needs: mount points, /work, /usr/bin/python3
//   seal      as a built image (seal.h): same modes, same owner, same kind of digest
//
// Nothing of the image runs. Of files only their bytes and whether they can be executed are taken: owners,
// times, set-id bits, access control lists and extended attributes (capabilities) are not. What the image's
// config says of commands, users and environments is not used: a box has its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "image/layer_tree.h"
#include "image/progress.h"
#include "image/store.h"
#include "sys/fd.h"

namespace casemate::image {

struct ImportOptions {
  std::string name;        // is_image_name()
  bool replace = false;    // an image of this name that has other content
  std::int64_t now_s = 0;  // seconds since 1970, for `about`
  unsigned threads = 2;    // that hash
  ImportLimits limits;
  milliseconds lock_wait{15 * 60'000};
};

// The name that an archive's file suggests: "x/Tool-1.tar.gz" → "tool-1". Empty where it suggests none.
std::string image_name_of(std::string_view file);

struct Imported {
  ImageInfo image;
  About about;  // its `recipe` is the digest of the OCI manifest
  unsigned layers = 0;
};

// Reads the archive from the descriptor, which may be a pipe.
// Errors: invalid (the archive, or the name), exhausted (a limit), unavailable (the name is taken; no space;
// the store cannot be written), deadline, system. On an error the store is as it was.
Result<Imported> import_image(const Store& store, const sys::Fd& archive, const ImportOptions& options,
                              Progress& progress);

}  // namespace casemate::image
