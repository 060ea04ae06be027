// Reading archives that nobody vouches for: bytes are pulled through stages, each with its bound.
//
//   ByteSource  →  Unpacked (gzip, zstd; hashes and counts)  →  TarReader (entries and their content)
//
// Nothing is written here, and no path is opened. libarchive stays behind archive.cc. All classes: one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "crypto/sha256.h"
#include "sys/fd.h"

struct archive;

namespace casemate::image {

// Bytes that are pulled piece by piece.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next piece, which lives until the next call; empty at the end, and again after it.
  virtual Result<std::string_view> next() = 0;
};

// What read(2) yields from here to the end of the descriptor, which must outlive the source.
class FdSource final : public ByteSource {
 public:
  explicit FdSource(const sys::Fd& fd);
  Result<std::string_view> next() override;

 private:
  const sys::Fd* fd_;
  std::vector<char> buffer_;
};

class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}
  Result<std::string_view> next() override { return std::exchange(text_, {}); }

 private:
  std::string_view text_;
};

enum class Packing { kNone, kGzip, kZstd, kAny };

namespace detail {
struct FreeArchive {
  void operator()(archive* reader) const;
};
using Archive = std::unique_ptr<archive, FreeArchive>;

// What libarchive's callback reads from, and why it could not.
struct Feed {
  ByteSource* source = nullptr;
  std::optional<Error> error;
};
}  // namespace detail

// Takes off one layer of packing: exactly the one named, or any of them or none with kAny. Packing within
// packing is refused, and bytes after the packed ones are not looked at.
class Unpacked final : public ByteSource {
 public:
  // `bytes_left` is what may still come out, of this and of all others that count on it.
  Unpacked(ByteSource& source, Packing packing, std::uint64_t& bytes_left);
  // Errors: invalid (damaged, or packed in another way), exhausted (`bytes_left`).
  Result<std::string_view> next() override;
  // Reads what is left. Then the SHA-256 of all that came out, in hex.
  Result<std::string> finish_sha256();

 private:
  Result<void> open();
  Result<std::string_view> pull();

  std::unique_ptr<detail::Feed> feed_;  // where it is must not change: libarchive points to it
  Packing packing_;
  std::uint64_t* bytes_left_;
  detail::Archive archive_;
  bool ended_ = false;
  crypto::Sha256 digest_;
};

// One entry as the archive spells it; nothing of it is checked but what is said here.
struct TarEntry {
  enum class Type { kFile, kDirectory, kLink, kHardLink, kDevice, kPipe };
  Type type = Type::kFile;
  std::string path;         // not empty; no NUL
  std::string target;       // of both kinds of links
  bool executable = false;  // for anybody
  std::uint64_t size = 0;   // of a file: exactly what data() yields
};

// Reads one tar archive (ustar, pax, GNU; no sparse files). Its owners, times, other mode bits, access
// control lists and extended attributes are read over.
class TarReader {
 public:
  explicit TarReader(ByteSource& source);
  // The next entry, or nothing at the end. Content that was not asked for is passed over.
  // Errors: invalid (not a tar archive, damaged, or cut short), and the source's own.
  Result<std::optional<TarEntry>> next();
  // The next piece of the file at hand, which lives until the next call; empty at its end.
  Result<std::string_view> data();

 private:
  Result<void> open();

  std::unique_ptr<detail::Feed> feed_;
  detail::Archive archive_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace casemate::image
