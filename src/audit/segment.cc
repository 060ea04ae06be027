#include "audit/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/limits.h"

namespace casemate::audit {
namespace {

constexpr std::string_view kSuffix = ".jsonl";
constexpr std::size_t kDigits = 8;
constexpr std::size_t kBufferSize = (std::size_t{256} << 10) + kAuditRecordMax;
constexpr std::size_t kBackwardsSize = std::size_t{64} << 10;

Result<std::size_t> read_at(const sys::Fd& file, char* to, std::size_t size, std::uint64_t offset) {
  for (;;) {
    const ssize_t got = ::pread(file.get(), to, size, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_errno("read a segment");
  }
}

// Goes back over at most `lines` lines of one file. Answers where the first of them begins and how many
// there are.
struct Backwards {
  std::uint64_t offset = 0;
  std::size_t lines = 0;
};
Result<Backwards> last_lines(const sys::Fd& file, std::size_t lines) {
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return fail_errno("fstat");
  std::vector<char> buffer(kBackwardsSize);
  // Line feeds seen, from the end: the one that ends the file's last whole line is the first.
  std::size_t feeds = 0;
  auto at = static_cast<std::uint64_t>(status.st_size);
  while (at > 0) {
    const std::size_t size = std::min<std::uint64_t>(buffer.size(), at);
    at -= size;
    const std::size_t got = TRY(read_at(file, buffer.data(), size, at));
    for (std::size_t i = got; i > 0; --i) {
      if (buffer[i - 1] != '\n') continue;
      if (feeds == lines) return Backwards{at + i, lines};
      ++feeds;
    }
  }
  return Backwards{0, feeds};
}

}  // namespace

std::string segment_name(std::uint32_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return digits + std::string(kSuffix);
}

std::optional<std::uint32_t> segment_number(std::string_view name) {
  if (name.size() != kDigits + kSuffix.size() || !name.ends_with(kSuffix)) return std::nullopt;
  std::uint32_t number = 0;
  for (const char c : name.substr(0, kDigits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

Result<std::vector<std::uint32_t>> list_segments(const sys::Fd& directory) {
  sys::Fd copy = TRY(sys::open_at(directory.get(), ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(copy.get()), ::closedir);
  if (!listing) return fail_errno("fdopendir");
  (void)copy.release();  // the DIR owns it now
  std::vector<std::uint32_t> numbers;
  errno = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const auto number = segment_number(static_cast<const char*>(entry->d_name));
    if (!number) continue;
    if (numbers.size() == kAuditSegmentsMax)
      return fail(ErrorCode::kExhausted,
                  "a log has more than " + std::to_string(kAuditSegmentsMax) + " segments");
    numbers.push_back(*number);
  }
  if (errno != 0) return fail_errno("read a log's directory");
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<sys::Fd> open_segment(const sys::Fd& directory, std::uint32_t number) {
  sys::Fd file = TRY(sys::open_at(directory.get(), segment_name(number), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return fail_errno("fstat");
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::kInvalid, segment_name(number) + " is no regular file");
  return file;
}

LineReader::LineReader(sys::Fd file, std::uint64_t offset, std::uint64_t end)
    : file_(std::move(file)), end_(end), base_(offset), buffer_(kBufferSize) {}

// True when there are more bytes in the buffer than before.
Result<bool> LineReader::read_more() {
  if (filled_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    base_ += begin_;
    filled_ -= begin_;
    next_ -= begin_;
    begin_ = 0;
  }
  const std::uint64_t at = base_ + filled_;
  const std::size_t wanted = std::min<std::uint64_t>(buffer_.size() - filled_, end_ > at ? end_ - at : 0);
  const std::size_t got = wanted == 0 ? 0 : TRY(read_at(file_, buffer_.data() + filled_, wanted, at));
  filled_ += got;
  return got > 0;
}

Result<LineReader::What> LineReader::next(std::string_view& line) {
  begin_ = next_;
  std::size_t looked_at = 0;  // bytes of the line that hold no line feed
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const std::size_t there = filled_ - begin_;
    const void* feed = there > looked_at ? std::memchr(start + looked_at, '\n', there - looked_at) : nullptr;
    const std::size_t size =
        feed != nullptr ? static_cast<std::size_t>(static_cast<const char*>(feed) - start) : there;
    if (size >= kAuditRecordMax) return What::kTooLong;
    line = {start, size};
    if (feed != nullptr) {
      next_ = begin_ + size + 1;
      return What::kLine;
    }
    looked_at = there;
    const bool more = TRY(read_more());
    if (more) continue;
    line = {buffer_.data() + begin_, filled_ - begin_};
    return line.empty() ? What::kEnd : What::kPart;
  }
}

Cursor::Cursor(sys::Fd directory, Place from)
    : directory_(std::move(directory)), segment_(from.segment), from_offset_(from.offset) {}

Result<bool> Cursor::next(std::string_view& line) {
  // A segment that has a successor does not grow any more: one more look at it after that was seen is the
  // last.
  for (bool is_over = false;;) {
    if (!reader_) {
      auto file = open_segment(directory_, segment_);
      if (!file && file.error().errno_value == ENOENT) return false;
      reader_.emplace(TRY(std::move(file)), from_offset_);
    }
    const LineReader::What what = TRY(reader_->next(line));
    if (what == LineReader::What::kTooLong)
      return fail(ErrorCode::kInvalid, segment_name(segment_) + " holds what is no record");
    if (what == LineReader::What::kLine) {
      at_ = {segment_, reader_->line_offset()};
      return true;
    }
    if (is_over) {
      if (what == LineReader::What::kPart)
        return fail(ErrorCode::kInvalid, segment_name(segment_) + " ends in half a record");
      reader_.reset();
      ++segment_;
      from_offset_ = 0;
      is_over = false;
      continue;
    }
    const std::string following = segment_name(segment_ + 1);
    if (::faccessat(directory_.get(), following.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) return false;
    is_over = true;
  }
}

Result<Place> place_of_last(const sys::Fd& directory, std::size_t lines) {
  const std::vector<std::uint32_t> numbers = TRY(list_segments(directory));
  Place place;
  if (!numbers.empty()) place.segment = numbers.front();
  for (auto number = numbers.rbegin(); number != numbers.rend() && lines > 0; ++number) {
    const sys::Fd file = TRY(open_segment(directory, *number));
    const Backwards found = TRY(last_lines(file, lines));
    place = {*number, found.offset};
    lines -= found.lines;
  }
  return place;
}

}  // namespace casemate::audit
