// Whether lines are a chain: each whole, each after the one before. Pure; the same code checks for verify,
// for the index and under the fuzzer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/line.h"
#include "json/value.h"

namespace casemate::audit {

enum class FaultKind {
  kChanged,         // a record is not what its digest says, or does not have the form of one
  kReplaced,        // it is whole, but not the one that the next record was written after
  kMissing,         // a record is not there
  kReordered,       // it stands behind a later one
  kDuplicated,      // it is there twice
  kTruncated,       // a segment ends early
  kTorn,            // the last segment ends in half a record
  kMissingSegment,  // a file is not there, or is another one's
  kMissingWriter,   // the manifest names a log that is gone, or the manifest is
  kUnlistedWriter,  // the manifest does not name a log that is there
  kIndex,           // the index says something else
  kHead,            // a head that was kept elsewhere is in no chain
  kUnreadable,      // the file system does not give it
};
// "changed", "missing_segment", …
const char* fault_kind_name(FaultKind kind);

// The first thing that is wrong with a chain.
struct Fault {
  FaultKind kind = FaultKind::kChanged;
  std::string writer;          // empty: of none
  std::uint32_t segment = 0;   // 0: of none
  std::uint64_t offset = 0;    // in the segment: where the record begins, or should
  std::uint64_t sequence = 0;  // of the first record that is not right; 0: of none
  std::string what;            // one line
};

// One thread.
class ChainCheck {
 public:
  // From a chain's beginning. `writer` is the name that its headers must have.
  explicit ChainCheck(std::string writer) : writer_(std::move(writer)) {}
  // From behind a record that was checked before, in this segment.
  ChainCheck(std::string writer, std::string instance, std::uint32_t segment, Position last)
      : writer_(std::move(writer)),
        instance_(std::move(instance)),
        segment_(segment),
        head_(std::move(last)) {}

  // The next line is the first of this segment.
  void begin_segment(std::uint32_t number);
  // The next line, without its line feed. After a fault there is nothing more to be checked.
  // A number that is too high is kMissing, or kTruncated at a segment's begin; one that was there before is
  // kDuplicated: which of the others it is shows only what else is in the chain.
  std::optional<Fault> next(std::string_view text, std::uint64_t offset);
  // A fault of the record that is due now.
  Fault fault(FaultKind kind, std::uint64_t offset, std::string what) const;

  const std::string& writer() const { return writer_; }
  // Empty before the first header.
  const std::string& instance() const { return instance_; }
  const Position& head() const { return head_; }
  // Of the last line: what it says of itself, until the next call with another text; and its members.
  const Line& line() const { return line_; }
  const json::Value& members() const { return members_; }
  bool is_closed() const { return closed_; }
  std::uint64_t torn_tails() const { return torn_tails_; }

 private:
  std::optional<Fault> check_order(std::uint64_t offset) const;
  std::optional<Fault> check_header(std::uint64_t offset) const;
  void note_log_event();

  std::string writer_;
  std::string instance_;
  std::uint32_t segment_ = 0;
  bool header_due_ = false;
  Position head_;
  Line line_;
  json::Value members_;
  bool closed_ = false;
  std::uint64_t torn_tails_ = 0;
};

}  // namespace casemate::audit
