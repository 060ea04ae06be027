#include "audit/chain.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "audit/record.h"
#include "audit/segment.h"
#include "base/check.h"
#include "crypto/random.h"

namespace casemate::audit {

// What a segment ends in.
struct Chain::Tail {
  std::string line;          // the last whole line
  std::string part;          // what stands behind it
  std::uint64_t size = 0;    // of the file
  std::uint64_t window = 0;  // where that which was read begins
};

namespace {

constexpr const char* kNewSegment = "segment.new";

bool is_full_disk(const Error& error) { return error.errno_value == ENOSPC || error.errno_value == EDQUOT; }

tl::unexpected<Error> at_fault(std::uint32_t segment, const std::string& what) {
  return fail(ErrorCode::kInvalid, segment_name(segment) + ": " + what +
                                       "; nothing was changed. `casemate audit verify` says more");
}

Result<std::string> read_window(const sys::Fd& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read a segment");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

bool is_whole_record(std::string_view text) {
  const auto line = parse_line(text);
  return line && digest_holds(text, *line);
}

}  // namespace

Result<Chain> Chain::open(sys::Fd directory, const ChainOptions& options, Disk& disk, Time at) {
  Chain chain(std::move(directory), options, disk);
  // A header that a crash kept from its name.
  if (::unlinkat(chain.directory_.get(), kNewSegment, 0) < 0 && errno != ENOENT)
    return fail_errno(std::string("remove ") + kNewSegment);
  const std::vector<std::uint32_t> segments = TRY(list_segments(chain.directory_));
  if (segments.empty()) {
    TRY(chain.begin(at));
  } else {
    TRY(chain.resume(segments.back(), at));
  }
  return chain;
}

Result<void> Chain::begin(Time at) {
  instance_ = crypto::random_id();
  return make_segment(1, at);
}

Result<void> Chain::resume(std::uint32_t segment, Time at) {
  segment_ = segment;
  file_ = TRY(sys::open_at(directory_.get(), segment_name(segment), O_RDWR | O_APPEND | O_NOFOLLOW));
  Tail tail;
  TRY(read_end(tail));
  const auto line = parse_line(tail.line);
  if (!line || !digest_holds(tail.line, *line)) return at_fault(segment_, "its last record is not whole");
  // A crash leaves the beginning of a record, not a record with something else for its line feed.
  if (!tail.part.empty() && is_whole_record(std::string_view(tail.part).substr(0, tail.part.size() - 1)))
    return at_fault(segment_, "its last record has no line end");
  head_ = {line->sequence, std::string(line->digest)};
  const bool closed = line->kind == LogEvent::kKind &&
                      line->body == TRY(body_of(LogEvent{LogEvent::Step::kClosed, {}, {}, 0, 0}, nullptr));
  found_ = closed && tail.part.empty() ? Found::kClosed : Found::kCrash;
  TRY(read_header());
  // Who named the segment may have died before its name was on the disk.
  TRY(disk_->sync_directory(directory_));
  size_ = tail.size;
  if (tail.part.empty()) return {};
  TRY(disk_->cut(file_, tail.size - tail.part.size()));
  size_ -= tail.part.size();
  LogEvent cut{LogEvent::Step::kTornTailCut, {}, {}, segment_, tail.part.size()};
  add(LogEvent::kKind, TRY(body_of(cut, nullptr)), at);
  TRY(write());
  return sync();
}

Result<void> Chain::read_end(Tail& tail) {
  struct stat status {};
  if (::fstat(file_.get(), &status) < 0) return fail_errno("fstat");
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    return at_fault(segment_, "it is no regular file with one name");
  tail.size = static_cast<std::uint64_t>(status.st_size);
  // The last line and a part of one more.
  const std::size_t window = std::min<std::uint64_t>(tail.size, 2 * kAuditRecordMax);
  tail.window = tail.size - window;
  const std::string bytes = TRY(read_window(file_, tail.window, window));
  const std::size_t end = bytes.rfind('\n');
  if (end == std::string::npos) return at_fault(segment_, "it does not end in a record");
  const std::size_t before = end == 0 ? std::string::npos : bytes.rfind('\n', end - 1);
  if (before == std::string::npos && tail.window > 0)
    return at_fault(segment_, "it does not end in a record");
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  tail.line = bytes.substr(begin, end - begin);
  tail.part = bytes.substr(end + 1);
  if (tail.part.size() >= kAuditRecordMax)
    return at_fault(segment_, "more than a record stands behind its last");
  return {};
}

Result<void> Chain::read_header() {
  const std::string bytes = TRY(read_window(file_, 0, kAuditRecordMax));
  const std::string line = bytes.substr(0, bytes.find('\n'));
  const auto parsed = parse_line(line);
  if (!parsed || parsed->kind != SegmentHeader::kKind)
    return at_fault(segment_, "it does not begin with a header");
  const json::Value members = TRY(read_members(line));
  instance_ = text_member(members, "instance");
  if (text_member(members, "writer") != options_.writer || instance_.empty())
    return at_fault(segment_, "it is of another log");
  header_size_ = line.size() + 1;
  return {};
}

Result<void> Chain::make_segment(std::uint32_t number, Time at) {
  if (number > kAuditSegmentsMax)
    return fail(ErrorCode::kExhausted, "the log has as many segments as it may have");
  const std::string name = segment_name(number);
  if (::faccessat(directory_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    broken_ = true;
    return at_fault(number, "it is there before it was written");
  }
  std::string header;
  const SegmentHeader members{options_.writer, instance_, number};
  const Position made = append_line(header, head_, at, SegmentHeader::kKind, TRY(body_of(members, nullptr)));
  sys::Fd file = TRY(
      sys::open_at(directory_.get(), kNewSegment, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  const auto named = [&]() -> Result<void> {
    TRY(disk_->append(file, header));
    TRY(disk_->sync(file));
    // From here on the next segment may be there, whatever comes back.
    broken_ = true;
    TRY(disk_->rename(directory_, kNewSegment, name));
    return disk_->sync_directory(directory_);
  }();
  if (!named) {
    if (!broken_) broken_ = !is_full_disk(named.error());
    (void)::unlinkat(directory_.get(), kNewSegment, 0);  // if it stays, the next open removes it
    return named;
  }
  broken_ = false;
  file_ = std::move(file);
  segment_ = number;
  size_ = header_size_ = header.size();
  head_ = made;
  return {};
}

bool Chain::is_full(std::size_t line_size) const {
  const std::uint64_t used = size_ + batch_.size();
  return used > header_size_ && used + line_size > options_.segment_max.count;
}

Position Chain::add(std::string_view kind, std::string_view body, Time at) {
  CHECK(line_size_max(kind, body) <= kAuditRecordMax);
  batch_head_ = append_line(batch_, batch_.empty() ? head_ : batch_head_, at, kind, body);
  return batch_head_;
}

Result<void> Chain::check_segment() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) < 0) return fail_errno("fstat");
  if (status.st_nlink == 0) return fail(ErrorCode::kUnavailable, segment_name(segment_) + " was removed");
  return {};
}

Result<void> Chain::write() {
  if (batch_.empty()) return {};
  const auto written = write_batch();
  batch_.clear();  // its memory serves the next one
  return written;
}

Result<void> Chain::write_batch() {
  struct stat status {};
  if (::fstat(file_.get(), &status) < 0) return fail_errno("fstat");
  if (status.st_nlink == 0 || static_cast<std::uint64_t>(status.st_size) != size_) {
    broken_ = true;
    return fail(
        ErrorCode::kUnavailable,
        segment_name(segment_) + (status.st_nlink == 0 ? " was removed" : " was changed by somebody else"));
  }
  const auto written = disk_->append(file_, batch_);
  if (!written) {
    // No part of a record may stay before the next one.
    const auto cut = disk_->cut(file_, size_);
    broken_ = !cut || !is_full_disk(written.error());
    return written;
  }
  size_ += batch_.size();
  head_ = batch_head_;
  return {};
}

Result<void> Chain::sync() {
  TRY(disk_->sync(file_));
  return check_segment();
}

Result<void> Chain::rotate(Time at) {
  CHECK(batch_.empty());
  return make_segment(segment_ + 1, at);
}

}  // namespace casemate::audit
