#include "audit/verify_chain.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "audit/layout.h"

namespace casemate::audit {
namespace {

struct Opened {
  sys::Fd file;
  std::uint64_t size = 0;  // as it is now: what comes later is not looked at
};

Result<Opened> open_at_size(const sys::Fd& directory, std::uint32_t number) {
  Opened opened{TRY(open_segment(directory, number)), 0};
  struct stat status {};
  if (::fstat(opened.file.get(), &status) < 0) return fail_errno("fstat " + segment_name(number));
  opened.size = static_cast<std::uint64_t>(status.st_size);
  return opened;
}

class Walk {
 public:
  Walk(const sys::Fd& directory, const std::string& name, const Visit& visit)
      : directory_(directory), visit_(visit), check_(name) {}

  ChainReport run() {
    report_.name = check_.writer();
    report_.live = is_chain_locked(directory_);
    const auto segments = list_segments(directory_);
    if (segments) {
      segments_ = *segments;
      walk();
    } else {
      report_.fault = check_.fault(FaultKind::kUnreadable, 0, segments.error().message);
    }
    report_.instance = check_.instance();
    report_.head = check_.head();
    report_.closed = check_.is_closed();
    report_.torn_tails = check_.torn_tails();
    return std::move(report_);
  }

 private:
  void walk() {
    std::uint32_t due = 1;
    for (const std::uint32_t number : segments_) {
      check_.begin_segment(due);
      if (number != due) {
        report_.fault = check_.fault(FaultKind::kMissingSegment, 0, segment_name(due) + " is not there");
        return;
      }
      report_.fault = walk_segment(number);
      if (report_.fault) return;
      ++report_.segments;
      ++due;
    }
  }

  std::optional<Fault> walk_segment(std::uint32_t number) {
    auto opened = open_at_size(directory_, number);
    if (!opened) return check_.fault(FaultKind::kUnreadable, 0, opened.error().message);
    report_.bytes += opened->size;
    if (opened->size == 0) return check_.fault(FaultKind::kTruncated, 0, "the segment is empty");
    LineReader reader(std::move(opened->file), 0, opened->size);
    std::string_view text;
    for (;;) {
      const auto what = reader.next(text);
      if (!what) return check_.fault(FaultKind::kUnreadable, reader.offset(), what.error().message);
      switch (*what) {
        case LineReader::What::kEnd: return std::nullopt;
        case LineReader::What::kPart: return end_in_part(number, reader.line_offset());
        case LineReader::What::kTooLong:
          return check_.fault(FaultKind::kChanged, reader.line_offset(), "more bytes than a record has");
        case LineReader::What::kLine: break;
      }
      if (auto fault = check_.next(text, reader.line_offset()))
        return explain(*std::move(fault), {number, reader.offset()});
      ++report_.records;
      if (auto fault = visit_(check_, {number, reader.line_offset()}, text.size())) return fault;
    }
  }

  std::optional<Fault> end_in_part(std::uint32_t number, std::uint64_t offset) {
    if (number != segments_.back())
      return check_.fault(FaultKind::kTruncated, offset, "the segment ends in half a record");
    if (report_.live || is_chain_locked(directory_)) {  // it is being written
      report_.live = true;
      return std::nullopt;
    }
    return check_.fault(
        FaultKind::kTorn, offset,
        "half a record: a crash, or somebody cut it; who opens the log next takes it off and says so");
  }

  // What is known only from the rest of the chain.
  Fault explain(Fault fault, const Place& behind) const {
    if (fault.kind == FaultKind::kMissing || fault.kind == FaultKind::kTruncated) {
      if (!find(behind, fault.sequence)) return fault;
      fault.kind = FaultKind::kReordered;
      fault.what = "record " + std::to_string(fault.sequence) + " stands behind record " +
                   std::to_string(check_.line().sequence);
    } else if (fault.kind == FaultKind::kDuplicated) {
      const std::string again(check_.line().digest);
      if (find(Place{}, fault.sequence) == again) return fault;
      fault.kind = FaultKind::kReplaced;
      fault.what = "another record " + std::to_string(fault.sequence) + " stands behind record " +
                   std::to_string(check_.head().sequence);
    }
    return fault;
  }

  // The digest of the first whole record with this number from there on.
  std::optional<std::string> find(const Place& from, std::uint64_t sequence) const {
    for (const std::uint32_t number : segments_) {
      if (number < from.segment) continue;
      auto opened = open_at_size(directory_, number);
      if (!opened) continue;
      LineReader reader(std::move(opened->file), number == from.segment ? from.offset : 0, opened->size);
      std::string_view text;
      for (auto what = reader.next(text); what && *what == LineReader::What::kLine;
           what = reader.next(text)) {
        const auto line = parse_line(text);
        if (line && line->sequence == sequence && digest_holds(text, *line)) return std::string(line->digest);
      }
    }
    return std::nullopt;
  }

  const sys::Fd& directory_;
  const Visit& visit_;
  ChainCheck check_;
  std::vector<std::uint32_t> segments_;
  ChainReport report_;
};

}  // namespace

ChainReport verify_chain(const sys::Fd& directory, const std::string& name, const Visit& visit) {
  return Walk(directory, name, visit).run();
}

}  // namespace casemate::audit
