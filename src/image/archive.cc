// libarchive, with as little of it as will do: the tar format, two kinds of packing, callbacks to read. Only
// the members of its archive that these need are linked.
#include "image/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "json/utf8.h"

namespace casemate::image {
namespace {

constexpr std::size_t kReadBytes = std::size_t{128} << 10;
constexpr std::size_t kMessageMax = 200;

// libarchive turns pax names, which are UTF-8, into the locale's encoding: in the C locale there are none
// for most of them. The locale of this thread alone changes, and only for the call.
class Utf8Names {
 public:
  Utf8Names() : before_(::uselocale(locale())) {}
  ~Utf8Names() { ::uselocale(before_); }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  static locale_t locale() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    CHECK(utf8 != nullptr);  // glibc 2.35 has it built in
    return utf8;
  }
  locale_t before_;
};

la_ssize_t read_feed(archive* reader, void* data, const void** buffer) {
  auto* feed = static_cast<detail::Feed*>(data);
  auto piece = feed->source->next();
  if (!piece) {
    feed->error = std::move(piece.error());
    archive_set_error(reader, EIO, "the source failed");
    return -1;
  }
  *buffer = piece->data();
  return static_cast<la_ssize_t>(piece->size());
}

// What went wrong last: the source's own error, or what libarchive says.
tl::unexpected<Error> failure(archive* reader, const detail::Feed& feed, const std::string& context) {
  if (feed.error) return tl::unexpected<Error>(*feed.error);
  const char* said = archive_error_string(reader);
  return fail(ErrorCode::kInvalid,
              context + ": " + (said == nullptr ? "it is damaged" : json::one_line(said, kMessageMax)));
}

bool has_any_text(const char* text) { return text != nullptr && *text != '\0'; }

std::optional<TarEntry::Type> type_of(archive_entry* header) {
  if (archive_entry_hardlink(header) != nullptr) return TarEntry::Type::kHardLink;
  switch (archive_entry_filetype(header)) {
    case AE_IFREG: return TarEntry::Type::kFile;
    case AE_IFDIR: return TarEntry::Type::kDirectory;
    case AE_IFLNK: return TarEntry::Type::kLink;
    case AE_IFCHR:
    case AE_IFBLK: return TarEntry::Type::kDevice;
    case AE_IFIFO:
    case AE_IFSOCK: return TarEntry::Type::kPipe;
    default: return std::nullopt;
  }
}

}  // namespace

namespace detail {
void FreeArchive::operator()(archive* reader) const { archive_read_free(reader); }
}  // namespace detail

FdSource::FdSource(const sys::Fd& fd) : fd_(&fd), buffer_(kReadBytes) {}

Result<std::string_view> FdSource::next() {
  const std::size_t got = TRY(sys::read_some(*fd_, buffer_));
  return std::string_view(buffer_.data(), got);
}

Unpacked::Unpacked(ByteSource& source, Packing packing, std::uint64_t& bytes_left)
    : feed_(std::make_unique<detail::Feed>()), packing_(packing), bytes_left_(&bytes_left) {
  feed_->source = &source;
}

Result<void> Unpacked::open() {
  archive_.reset(archive_read_new());
  CHECK(archive_ != nullptr);
  archive* reader = archive_.get();
  // Its "raw" format is the bytes themselves; what we want are its filters.
  CHECK(archive_read_support_format_raw(reader) == ARCHIVE_OK);
  if (packing_ != Packing::kZstd) CHECK(archive_read_support_filter_gzip(reader) == ARCHIVE_OK);
  if (packing_ != Packing::kGzip) CHECK(archive_read_support_filter_zstd(reader) == ARCHIVE_OK);
  archive_entry* header = nullptr;
  if (archive_read_open(reader, feed_.get(), nullptr, read_feed, nullptr) != ARCHIVE_OK ||
      archive_read_next_header(reader, &header) != ARCHIVE_OK) {
    return failure(reader, *feed_, "it cannot be unpacked");
  }
  // One filter, and the reading itself, which counts as another.
  const int filters = archive_filter_count(reader);
  const int first = archive_filter_code(reader, 0);
  if (filters > 2) return fail(ErrorCode::kInvalid, "it is packed twice");
  if (packing_ == Packing::kGzip && first != ARCHIVE_FILTER_GZIP) {
    return fail(ErrorCode::kInvalid, "it is said to be packed with gzip and is not");
  }
  if (packing_ == Packing::kZstd && first != ARCHIVE_FILTER_ZSTD) {
    return fail(ErrorCode::kInvalid, "it is said to be packed with zstd and is not");
  }
  return {};
}

Result<std::string_view> Unpacked::pull() {
  if (packing_ == Packing::kNone) return feed_->source->next();
  if (!archive_) TRY(open());
  const void* data = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  for (;;) {
    const int status = archive_read_data_block(archive_.get(), &data, &size, &offset);
    if (status == ARCHIVE_EOF) return std::string_view();
    if (status != ARCHIVE_OK) return failure(archive_.get(), *feed_, "it cannot be unpacked");
    if (size > 0) return std::string_view(static_cast<const char*>(data), size);
  }
}

Result<std::string_view> Unpacked::next() {
  if (ended_) return std::string_view();
  const std::string_view piece = TRY(pull());
  if (piece.size() > *bytes_left_) {
    return fail(ErrorCode::kExhausted, "it holds more bytes, unpacked, than an import may have");
  }
  *bytes_left_ -= piece.size();
  ended_ = piece.empty();
  digest_.update(piece);
  return piece;
}

Result<std::string> Unpacked::finish_sha256() {
  while (!TRY(next()).empty()) {
  }
  return digest_.finish_hex();
}

TarReader::TarReader(ByteSource& source) : feed_(std::make_unique<detail::Feed>()) {
  feed_->source = &source;
}

Result<void> TarReader::open() {
  archive_.reset(archive_read_new());
  CHECK(archive_ != nullptr);
  CHECK(archive_read_support_format_tar(archive_.get()) == ARCHIVE_OK);
  if (archive_read_open(archive_.get(), feed_.get(), nullptr, read_feed, nullptr) != ARCHIVE_OK) {
    return failure(archive_.get(), *feed_, "no tar archive");
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  const Utf8Names names;
  if (!archive_) TRY(open());
  archive_entry* header = nullptr;
  const int status = archive_read_next_header(archive_.get(), &header);
  if (status == ARCHIVE_EOF) return std::optional<TarEntry>();
  // A warning is about something that another reader would take otherwise.
  if (status != ARCHIVE_OK) {
    return failure(archive_.get(), *feed_,
                   path_.empty() ? "tar" : "tar, after " + json::one_line(path_, kMessageMax));
  }
  TarEntry entry;
  const char* path = archive_entry_pathname(header);
  if (!has_any_text(path))
    return fail(ErrorCode::kInvalid, "tar: an entry has no name, or none that is UTF-8");
  entry.path = path;
  path_ = entry.path;
  const auto bad = [&](const std::string& what) {
    return fail(ErrorCode::kInvalid, json::one_line(path_, kMessageMax) + " " + what);
  };
  const auto type = type_of(header);
  if (!type) return bad("is of a type that tar does not name");
  entry.type = *type;
  if (entry.type == TarEntry::Type::kLink || entry.type == TarEntry::Type::kHardLink) {
    const char* target =
        entry.type == TarEntry::Type::kLink ? archive_entry_symlink(header) : archive_entry_hardlink(header);
    if (!has_any_text(target)) return bad("is a link to nothing");
    entry.target = target;
  }
  entry.executable = (archive_entry_perm(header) & 0111U) != 0;
  size_ = 0;
  taken_ = 0;
  if (entry.type == TarEntry::Type::kFile) {
    if (archive_entry_sparse_count(header) > 0) return bad("is a sparse file, which is not taken");
    if (archive_entry_size_is_set(header) == 0 || archive_entry_size(header) < 0) return bad("has no size");
    entry.size = static_cast<std::uint64_t>(archive_entry_size(header));
    size_ = entry.size;
  }
  return std::optional<TarEntry>(std::move(entry));
}

Result<std::string_view> TarReader::data() {
  const void* data = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  while (taken_ < size_) {
    const int status = archive_read_data_block(archive_.get(), &data, &size, &offset);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK) return failure(archive_.get(), *feed_, json::one_line(path_, kMessageMax));
    if (size == 0) continue;
    if (offset < 0 || static_cast<std::uint64_t>(offset) != taken_ || size > size_ - taken_) break;
    taken_ += size;
    return std::string_view(static_cast<const char*>(data), size);
  }
  if (taken_ == size_) return std::string_view();
  return fail(ErrorCode::kInvalid,
              json::one_line(path_, kMessageMax) + " does not hold as many bytes as it says");
}

}  // namespace casemate::image
