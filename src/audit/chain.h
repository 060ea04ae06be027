// The writing end of a chain: segment files that only grow, each record holding the digest of the one before.
//
// A segment gets its name when its header is on the disk, and after the segment before it is there whole. So
// what a crash leaves is a prefix of the chain and perhaps a part of one more record, at the very end. open()
// cuts that part off and writes a record that says so. Whatever else is wrong is left as it is, for verify.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/disk.h"
#include "audit/line.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

struct ChainOptions {
  std::string writer;  // stands in each segment's header
  Bytes segment_max = kAuditSegmentUsual;
};

// What open() found.
enum class Found {
  kNew,     // nothing: it is a new instance
  kClosed,  // its last record says that it was closed
  kCrash,   // it was not closed
};

// Move-only. One thread at a time; but sync() may run beside add() and write().
class Chain {
 public:
  // `directory` must be locked (layout.h) by the caller, as long as the chain lives; so must `disk`.
  // Errors: unavailable (it cannot be written), invalid (its end is not as a crash would leave it).
  static Result<Chain> open(sys::Fd directory, const ChainOptions& options, Disk& disk, Time at);

  const std::string& instance() const { return instance_; }
  Found found() const { return found_; }
  std::uint32_t segment() const { return segment_; }
  // The last record that was written.
  const Position& head() const { return head_; }

  // Whether the segment has no room for a record of this size behind the batch. It always has for its first
  // one.
  bool is_full(std::size_t line_size) const;
  std::size_t batch_bytes() const { return batch_.size(); }
  // Puts a record into the batch. Must fit kAuditRecordMax, by line_size_max().
  Position add(std::string_view kind, std::string_view body, Time at);
  // Gives the batch to the kernel: all of it or, on an error, nothing, and the chain is as before the batch.
  // Errors: system (ENOSPC and EDQUOT can be tried again), unavailable (the segment was removed or changed).
  Result<void> write();
  // Returns when all that was written before the call is on the disk. After an error nobody knows what is:
  // the kernel may have forgotten what it could not write. Errors: system, unavailable (the segment was
  // removed).
  Result<void> sync();
  // Begins the next segment. Nothing may be in the batch, and all that was written must be synced.
  Result<void> rotate(Time at);
  // Nothing can be written any more after the error that write() or rotate() answered with.
  bool broken() const { return broken_; }

 private:
  struct Tail;
  Chain(sys::Fd directory, const ChainOptions& options, Disk& disk)
      : directory_(std::move(directory)), options_(options), disk_(&disk) {}

  Result<void> begin(Time at);
  Result<void> resume(std::uint32_t segment, Time at);
  Result<void> read_end(Tail& tail);
  Result<void> read_header();
  Result<void> make_segment(std::uint32_t number, Time at);
  Result<void> write_batch();
  Result<void> check_segment() const;

  sys::Fd directory_;
  ChainOptions options_;
  Disk* disk_;
  std::string instance_;
  Found found_ = Found::kNew;
  bool broken_ = false;

  sys::Fd file_;  // the last segment
  std::uint32_t segment_ = 0;
  std::uint64_t size_ = 0;         // bytes of it
  std::uint64_t header_size_ = 0;  // those of its header
  Position head_;
  std::string batch_;
  Position batch_head_;
};

}  // namespace casemate::audit
