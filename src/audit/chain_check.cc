#include "audit/chain_check.h"

#include <utility>

#include "audit/record.h"

namespace casemate::audit {
namespace {

std::uint64_t number_member(const json::Value& members, std::string_view name) {
  const json::Value* found = members.find(name);
  return found == nullptr ? 0 : found->as_uint64().value_or(0);
}

std::string record_text(std::uint64_t sequence) { return "record " + std::to_string(sequence); }

}  // namespace

const char* fault_kind_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kChanged: return "changed";
    case FaultKind::kReplaced: return "replaced";
    case FaultKind::kMissing: return "missing";
    case FaultKind::kReordered: return "reordered";
    case FaultKind::kDuplicated: return "duplicated";
    case FaultKind::kTruncated: return "truncated";
    case FaultKind::kTorn: return "torn";
    case FaultKind::kMissingSegment: return "missing_segment";
    case FaultKind::kMissingWriter: return "missing_writer";
    case FaultKind::kUnlistedWriter: return "unlisted_writer";
    case FaultKind::kIndex: return "index";
    case FaultKind::kHead: return "head";
    case FaultKind::kUnreadable: return "unreadable";
  }
  return "";
}

void ChainCheck::begin_segment(std::uint32_t number) {
  segment_ = number;
  header_due_ = true;
}

Fault ChainCheck::fault(FaultKind kind, std::uint64_t offset, std::string what) const {
  return {kind, writer_, segment_, offset, head_.sequence + 1, std::move(what)};
}

std::optional<Fault> ChainCheck::next(std::string_view text, std::uint64_t offset) {
  const auto line = parse_line(text);
  if (!line) return fault(FaultKind::kChanged, offset, line.error().message);
  line_ = *line;
  if (!digest_holds(text, line_))
    return fault(FaultKind::kChanged, offset, "its digest is not that of its content");
  auto members = read_members(text);
  if (!members) return fault(FaultKind::kChanged, offset, members.error().message);
  members_ = std::move(*members);
  // A header says more than its number: that the file is another one's.
  const bool is_header = line_.kind == SegmentHeader::kKind;
  if (is_header && header_due_) {
    if (auto wrong = check_header(offset)) return wrong;
  }
  if (auto wrong = check_order(offset)) return wrong;
  if (is_header != header_due_) {
    return fault(
        FaultKind::kMissingSegment, offset,
        is_header ? "another segment begins inside this one" : "the segment does not begin with its header");
  }
  if (is_header) instance_ = text_member(members_, "instance");
  header_due_ = false;
  head_ = {line_.sequence, std::string(line_.digest)};
  note_log_event();
  return std::nullopt;
}

std::optional<Fault> ChainCheck::check_order(std::uint64_t offset) const {
  const std::uint64_t due = head_.sequence + 1;
  const std::uint64_t found = line_.sequence;
  if (found > due) {
    const std::string what =
        found == due + 1 ? record_text(due) + " is"
                         : "records " + std::to_string(due) + " to " + std::to_string(found - 1) + " are";
    if (header_due_ && line_.kind == SegmentHeader::kKind)
      return fault(FaultKind::kTruncated, offset, "the segment before ends early: " + what + " not there");
    return fault(FaultKind::kMissing, offset, what + " not there");
  }
  if (found < due) {
    Fault twice = fault(FaultKind::kDuplicated, offset,
                        record_text(found) + " is there again behind " + record_text(due - 1));
    twice.sequence = found;
    return twice;
  }
  if (line_.previous == head_.digest) return std::nullopt;
  Fault replaced =
      fault(FaultKind::kReplaced, offset,
            record_text(due) + " was not written after the " + record_text(due - 1) + " that is there");
  if (due > 1) replaced.sequence = due - 1;
  return replaced;
}

std::optional<Fault> ChainCheck::check_header(std::uint64_t offset) const {
  if (number_member(members_, "format") != kFormat)
    return fault(FaultKind::kChanged, offset, "the segment has a format that this program does not know");
  const std::string_view instance = text_member(members_, "instance");
  if (text_member(members_, "writer") != writer_ || instance.empty() ||
      (!instance_.empty() && instance != instance_))
    return fault(FaultKind::kMissingSegment, offset, "the segment is of another log");
  if (number_member(members_, "segment") != segment_)
    return fault(FaultKind::kMissingSegment, offset, "the file holds another segment");
  return std::nullopt;
}

void ChainCheck::note_log_event() {
  closed_ = false;
  if (line_.kind != LogEvent::kKind) return;
  const std::string_view step = text_member(members_, "step");
  closed_ = step == "closed";
  if (step == "torn_tail_cut") ++torn_tails_;
}

}  // namespace casemate::audit
