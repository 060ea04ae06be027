#include "image/blobs.h"

#include <fcntl.h>

#include "crypto/sha256.h"

namespace casemate::image {
namespace {

constexpr milliseconds kWriteSpan{60'000};  // of one piece
constexpr std::string_view kBlobs = "blobs/sha256/";

std::string hex_of(const std::string& digest) { return digest.substr(std::string_view("sha256:").size()); }

// The rest of the file at hand, for documents.
Result<std::string> read_whole(TarReader& tar, const TarEntry& entry) {
  if (entry.size > kOciDocumentMax) return fail(ErrorCode::kExhausted, entry.path + " is too large");
  std::string text;
  for (;;) {
    const std::string_view piece = TRY(tar.data());
    if (piece.empty()) return text;
    text.append(piece);
  }
}

}  // namespace

Result<Blobs> Blobs::collect(ByteSource& source, const sys::Fd& directory, const ImportLimits& limits,
                             Progress& progress) {
  Blobs blobs(directory);
  std::uint64_t bytes_left = limits.archive_bytes;
  Unpacked unpacked(source, Packing::kAny, bytes_left);
  TarReader tar(unpacked);
  std::size_t entries = 0;
  while (const auto entry = TRY(tar.next())) {
    if (++entries > kArchiveEntriesMax) {
      return fail(ErrorCode::kExhausted,
                  "the archive has more than " + std::to_string(kArchiveEntriesMax) + " entries");
    }
    TRY(blobs.take(tar, *entry));
    progress.advance(limits.archive_bytes - bytes_left, 0);
  }
  TRY(blobs.check_whole());
  return blobs;
}

Result<void> Blobs::take(TarReader& tar, const TarEntry& entry) {
  if (entry.type != TarEntry::Type::kFile) return {};
  const std::string_view path = std::string_view(entry.path).substr(entry.path.starts_with("./") ? 2 : 0);
  const auto twice = [&] {
    return fail(ErrorCode::kInvalid, std::string(path) + " comes twice in the archive");
  };
  if (path == "oci-layout" || path == "index.json") {
    std::string& text = path == "index.json" ? index_ : layout_;
    if (!text.empty()) return twice();
    text = TRY(read_whole(tar, entry));
    return {};
  }
  of_old_docker_ = of_old_docker_ || path == "manifest.json";
  if (!path.starts_with(kBlobs)) return {};
  const std::string hex(path.substr(kBlobs.size()));
  if (!crypto::is_lower_hex(hex, 64)) return {};
  if (!sizes_.emplace(hex, entry.size).second) return twice();
  const sys::Fd file =
      TRY(sys::open_at(directory_->get(), hex, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  crypto::Sha256 digest;
  for (;;) {
    const std::string_view piece = TRY(tar.data());
    if (piece.empty()) break;
    digest.update(piece);
    TRY(sys::write_all(file, piece, Deadline::in(kWriteSpan)));
  }
  if (digest.finish_hex() == hex) return {};
  return fail(ErrorCode::kInvalid, std::string(path) + " does not have the digest that it is named by");
}

Result<void> Blobs::check_whole() const {
  if (index_.empty() && of_old_docker_) {
    return fail(ErrorCode::kInvalid,
                "it was made by docker save before Docker 25, which writes no OCI layout; convert it with: "
                "skopeo copy docker-archive:FILE oci-archive:NEW");
  }
  if (index_.empty()) return fail(ErrorCode::kInvalid, "it is no OCI image archive: it has no index.json");
  if (layout_.empty()) return fail(ErrorCode::kInvalid, "it is no OCI image archive: it has no oci-layout");
  return {};
}

Result<sys::Fd> Blobs::open(const OciDescriptor& descriptor) const {
  const std::string hex = hex_of(descriptor.digest);
  const auto size = sizes_.find(hex);
  if (size == sizes_.end())
    return fail(ErrorCode::kInvalid, "the archive does not hold " + descriptor.digest);
  if (size->second != descriptor.size) {
    return fail(ErrorCode::kInvalid, descriptor.digest + " has " + std::to_string(size->second) +
                                         " bytes and should have " + std::to_string(descriptor.size));
  }
  return sys::open_at(directory_->get(), hex, O_RDONLY | O_NOFOLLOW);
}

Result<std::string> Blobs::document(const OciDescriptor& descriptor) const {
  const sys::Fd file = TRY(open(descriptor));
  return sys::read_file(file, kOciDocumentMax);
}

}  // namespace casemate::image
