// The segment files of a chain, and their lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

// "00000012.jsonl".
std::string segment_name(std::uint32_t number);
std::optional<std::uint32_t> segment_number(std::string_view name);

// The numbers that there are, in order. Errors: system, exhausted (more than kAuditSegmentsMax).
Result<std::vector<std::uint32_t>> list_segments(const sys::Fd& directory);

// Open for reading; a regular file, and no link. Errors: system, invalid.
Result<sys::Fd> open_segment(const sys::Fd& directory, std::uint32_t number);

// Where a line is.
struct Place {
  std::uint32_t segment = 1;
  std::uint64_t offset = 0;
  bool operator==(const Place&) const = default;
};

// Reads the lines of one file, in bounded memory. One thread.
class LineReader {
 public:
  enum class What {
    kLine,
    kEnd,      // of the file, or the end that was set; there may be more later
    kPart,     // of a line, which the file ends in
    kTooLong,  // this is no line of a log: more than kAuditRecordMax bytes without an end
  };
  static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

  // From `offset` on, as if the file ended at `end`.
  explicit LineReader(sys::Fd file, std::uint64_t offset = 0, std::uint64_t end = kNoEnd);

  // `line`: without its line feed, until the next call. After kEnd and kPart a call looks again. Errors:
  // system.
  Result<What> next(std::string_view& line);
  // Of the line that next() gave, and of what comes behind it.
  std::uint64_t line_offset() const { return base_ + begin_; }
  std::uint64_t offset() const { return base_ + next_; }

 private:
  Result<bool> read_more();

  sys::Fd file_;
  std::uint64_t end_;
  std::uint64_t base_;  // the offset in the file of the buffer's first byte
  std::vector<char> buffer_;
  std::size_t begin_ = 0;   // of the line
  std::size_t next_ = 0;    // behind it
  std::size_t filled_ = 0;  // bytes in the buffer
};

// Follows a chain from segment to segment, as far as it is written. One thread.
class Cursor {
 public:
  Cursor(sys::Fd directory, Place from);

  // The next whole line, until the next call; false: there is none yet, and a later call looks again.
  // Errors: system, invalid (a segment ends in half a line, or holds what is no line).
  Result<bool> next(std::string_view& line);
  // Of the line that next() gave, and of what comes behind it.
  const Place& at() const { return at_; }
  Place place() const { return {segment_, reader_ ? reader_->offset() : from_offset_}; }

 private:
  sys::Fd directory_;
  std::uint32_t segment_;
  std::uint64_t from_offset_;
  std::optional<LineReader> reader_;
  Place at_;
};

// Where the last `lines` whole lines of a chain begin. Errors: system.
Result<Place> place_of_last(const sys::Fd& directory, std::size_t lines);

}  // namespace casemate::audit
