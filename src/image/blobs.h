// The blobs of an OCI archive, put down in a directory of ours with their digests checked. Private to the
// image library.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "image/archive.h"
#include "image/layer_tree.h"
#include "image/oci.h"
#include "image/progress.h"
#include "sys/fd.h"

namespace casemate::image {

inline constexpr std::size_t kArchiveEntriesMax = 4096;

class Blobs {
 public:
  // Reads the archive (tar, perhaps packed) to its end and writes each blobs/sha256/HEX to the file HEX in
  // `directory`, which must be empty and outlive this. Other entries are passed over; only the names of
  // regular files count, so links and devices in the archive are nothing.
  // Errors: invalid (no such archive; a blob that has not the digest of its name; a file that comes
  // twice), exhausted (`archive_bytes`, kArchiveEntriesMax), system.
  static Result<Blobs> collect(ByteSource& source, const sys::Fd& directory, const ImportLimits& limits,
                               Progress& progress);

  const std::string& layout() const { return layout_; }  // the content of oci-layout
  const std::string& index() const { return index_; }    // and of index.json

  // The blob, which has the size that the descriptor says. Errors: invalid (not there, another size).
  Result<sys::Fd> open(const OciDescriptor& descriptor) const;
  // The whole of one. Errors: also exhausted (more than kOciDocumentMax).
  Result<std::string> document(const OciDescriptor& descriptor) const;

 private:
  explicit Blobs(const sys::Fd& directory) : directory_(&directory) {}
  Result<void> take(TarReader& tar, const TarEntry& entry);
  Result<void> check_whole() const;

  const sys::Fd* directory_;
  std::string layout_;
  std::string index_;
  bool of_old_docker_ = false;
  std::map<std::string, std::uint64_t> sizes_;  // by digest, in hex
};

}  // namespace casemate::image
