#include <algorithm>
#include <string_view>
#include <utility>

#include "audit/index.h"
#include "audit/layout.h"
#include "audit/record.h"

namespace casemate::audit {
namespace {

constexpr std::size_t kRowsAtOnce = 10'000;

tl::unexpected<Error> disagrees(const std::string& writer, const std::string& what) {
  return fail(ErrorCode::kInvalid,
              writer + ": " + what +
                  "; `casemate audit verify` says more, and an index that is removed is made again");
}

// The instance that the first header names; empty when there is none yet.
Result<std::string> instance_of(const sys::Fd& directory) {
  auto file = open_segment(directory, 1);
  if (!file) return std::string();
  LineReader reader(std::move(*file));
  std::string_view text;
  const LineReader::What what = TRY(reader.next(text));
  if (what != LineReader::What::kLine) return std::string();
  const json::Value members = TRY(read_members(text));
  return std::string(text_member(members, "instance"));
}

class Update {
 public:
  Update(Index& index, const std::string& writer, const std::string& instance)
      : index_(index), writer_(writer), instance_(instance), check_(writer) {}

  Result<std::uint64_t> run(sys::Fd directory) {
    const auto last = TRY(index_.last(instance_));
    Cursor cursor(std::move(directory), last ? last->place : Place{});
    std::string_view text;
    if (last) TRY(go_on_from(*last, cursor));
    while (TRY(cursor.next(text))) {
      if (cursor.at().offset == 0) check_.begin_segment(cursor.at().segment);
      if (const auto fault = check_.next(text, cursor.at().offset))
        return disagrees(writer_, segment_name(fault->segment) + ": " + fault->what);
      rows_.push_back(row_of(check_, cursor.at(), text.size()));
      if (rows_.size() == kRowsAtOnce) TRY(flush());
    }
    TRY(flush());
    return added_;
  }

 private:
  // The record that was the last one must be there as it was.
  Result<void> go_on_from(const IndexRow& last, Cursor& cursor) {
    std::string_view text;
    const bool there = TRY(cursor.next(text));
    const auto line = parse_line(there ? text : std::string_view());
    if (!line || line->sequence != last.sequence || line->digest != last.digest || !digest_holds(text, *line))
      return disagrees(writer_,
                       "record " + std::to_string(last.sequence) + " is not the one that the index has");
    check_ = ChainCheck(writer_, instance_, last.place.segment, {last.sequence, last.digest});
    return {};
  }

  Result<void> flush() {
    if (rows_.empty()) return {};
    TRY(index_.add(writer_, instance_, rows_));
    added_ += rows_.size();
    rows_.clear();
    return {};
  }

  Index& index_;
  const std::string& writer_;
  const std::string& instance_;
  ChainCheck check_;
  std::vector<IndexRow> rows_;
  std::uint64_t added_ = 0;
};

}  // namespace

IndexRow row_of(const ChainCheck& check, const Place& place, std::size_t size) {
  const Line& line = check.line();
  IndexRow row;
  row.sequence = line.sequence;
  row.place = place;
  row.size = size;
  row.at = line.at;
  row.digest = line.digest;
  row.kind = line.kind;
  row.run = text_member(check.members(), "run");
  row.capability = text_member(check.members(), "capability");
  row.verdict = text_member(check.members(), "verdict");
  return row;
}

Result<std::uint64_t> update_index(Index& index, const sys::Fd& audit) {
  std::uint64_t added = 0;
  const std::vector<std::string> names = TRY(writer_names(audit));
  for (const std::string& name : names) {
    sys::Fd directory = TRY(open_chain_directory(audit, writer_path(name)));
    const std::string instance = TRY(instance_of(directory));
    if (instance.empty()) continue;  // it is being made
    added += TRY(Update(index, name, instance).run(std::move(directory)));
  }
  return added;
}

}  // namespace casemate::audit
