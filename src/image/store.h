// Where images live: read-only roots of boxes, each named by the digest of its content.
//
//   STORE/sha256/HEX/rootfs     what a box sees as "/"
//   STORE/sha256/HEX/manifest   one line per file; its SHA-256 is HEX
//   STORE/sha256/HEX/about      where it came from
//   STORE/sha256/HEX/rootfs.squashfs   the root as one file, once somebody needed it (squashfs.h)
//   STORE/names/python          "sha256:HEX\n"
//   STORE/lock                  held by whoever writes
//   STORE/tmp/…                 builds under way, or killed
//
// An image appears and a name moves by one rename(2) each, after what they stand for is on disk: a
// reader sees a whole image or none, and so it is with an image's squashfs. Nothing is ever written to an
// image in place.
//
// Everything must belong to the user who asks, or to root, and be writable by the owner alone: an
// image is code that boxes trust.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "image/manifest.h"
#include "image/progress.h"
#include "sys/fd.h"

namespace casemate::image {

inline constexpr std::size_t kImageNameMax = 64;
inline constexpr std::size_t kImagesMax = 1024;  // that list() tells of

// Letters a-z, digits, '.', '_' and '-', the first a letter or digit; at most kImageNameMax.
bool is_image_name(std::string_view text);

struct ImageInfo {
  std::string name;    // empty when it was asked for by digest
  std::string digest;  // "sha256:…"
  std::string path;    // absolute: STORE/sha256/HEX
  std::string rootfs() const { return path + "/rootfs"; }
  std::string store() const;  // the store that it is in
};

struct ListedImage {
  ImageInfo info;
  std::optional<About> about;
  std::string fault;  // why there is no `about`; empty otherwise
};

struct VerifyReport {
  std::vector<Fault> faults;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool ok() const { return faults.empty(); }
};

// The directories that hold images for this user, in the order in which they are searched: root has
// /var/lib/casemate/images; others have their own, by $XDG_DATA_HOME or $HOME, and then root's.
// `home` and `xdg_data_home` may be empty.
std::vector<std::string> store_paths(bool is_root, std::string_view xdg_data_home, std::string_view home);

enum class StoreMode {
  kRead,   // it must be there
  kWrite,  // it is made if it is not there
};

// Immutable after open(); thread-safe.
class Store {
 public:
  // Errors: unavailable (not there, not writable, or not safe: the message says what to do).
  static Result<Store> open(const std::string& path, StoreMode mode);

  const std::string& path() const { return path_; }

  // By name or by digest. A dozen system calls, whatever the image's size; reads no content and hashes
  // nothing: see verify().
  // Errors: invalid (neither a name nor a digest), not_found, unavailable (the store or the image is
  // damaged or not safe).
  Result<ImageInfo> find(std::string_view name_or_digest) const;

  // Every name, in order. An image that is damaged is listed with its fault.
  Result<std::vector<ListedImage>> list() const;

  // Errors: unavailable (missing or malformed).
  Result<About> about(const ImageInfo& info) const;

  // Compares what is on disk with the manifest, and the manifest with the digest. kQuick looks at
  // names, types, modes, sizes and owners (some 50 ms for the default image); kFull reads everything.
  // A damaged image is a report with faults and not an error.
  Result<VerifyReport> verify(const ImageInfo& info, Depth depth, unsigned threads, Progress& progress) const;

  const sys::Fd& directory() const { return directory_; }

 private:
  friend class StoreWriter;
  Store(std::string path, sys::Fd directory) : path_(std::move(path)), directory_(std::move(directory)) {}
  Result<std::string> digest_of_name(std::string_view name) const;

  std::string path_;  // absolute
  sys::Fd directory_;
};

struct StoredImage {
  Store store;
  ImageInfo info;
};

// In the first of these stores that has it; see store_paths(). A store that is not there is passed over;
// one that is damaged is not: it must not silently give way to another's image of the same name.
// Errors: those of open() and find(); of the first store, when none has the image.
Result<StoredImage> find_image(const std::vector<std::string>& paths, std::string_view name_or_digest);

// The right to write to a store: at most one at a time, on the whole machine. Its destructor gives
// the right up and removes what was not published.
class StoreWriter {
 public:
  // Waits for another writer, saying so, until the deadline. Removes what killed builds left behind.
  // Errors: deadline, unavailable (not writable), system.
  static Result<StoreWriter> lock(const Store& store, Deadline deadline, Progress& progress);

  StoreWriter(StoreWriter&&) noexcept = default;
  StoreWriter& operator=(StoreWriter&&) = delete;
  ~StoreWriter();

  // An empty directory on the store's file system, for one image or one file of it.
  Result<sys::Fd> make_draft();

  // Makes the draft the image of this name: writes its manifest and `about`, puts everything on
  // disk, and renames it into place. An image that is there already is kept if it is whole, else replaced.
  Result<ImageInfo> publish(const About& about, std::string_view manifest, unsigned threads,
                            Progress& progress);

  // Moves a file of the draft, which is on disk, beside the root of an image that is there; over an older
  // one.
  Result<void> publish_beside(const ImageInfo& image, const std::string& name);

 private:
  StoreWriter(const Store& store, sys::Fd lock) : store_(&store), lock_(std::move(lock)) {}
  Result<void> place(const std::string& digest, unsigned threads, Progress& progress);

  const Store* store_;  // outlives the writer
  sys::Fd lock_;
  std::string draft_;  // "tmp/ID"; empty without a draft
};

}  // namespace casemate::image
