#include "audit/select.h"

#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "audit/layout.h"

namespace casemate::audit {
namespace {

bool is_everything(const Query& query) {
  return query.run.empty() && query.capability.empty() && query.verdict.empty() && !query.from && !query.to;
}

bool matches(const Query& query, const Line& line, const json::Value& members) {
  const auto is = [&](const std::string& wanted, std::string_view name) {
    return wanted.empty() || text_member(members, name) == wanted;
  };
  return is(query.run, "run") && is(query.capability, "capability") && is(query.verdict, "verdict") &&
         (!query.from || line.at >= *query.from) && (!query.to || line.at < *query.to);
}

Result<void> scan(const sys::Fd& audit, const Query& query, const EachRecord& each) {
  const std::vector<std::string> names = TRY(writer_names(audit));
  for (const std::string& name : names) {
    Cursor cursor(TRY(open_chain_directory(audit, writer_path(name))), Place{});
    std::string_view text;
    while (TRY(cursor.next(text))) {
      if (!is_everything(query)) {
        const Line line = TRY(parse_line(text));
        const json::Value members = TRY(read_members(text));
        if (!matches(query, line, members)) continue;
      }
      TRY(each(name, text));
    }
  }
  return {};
}

// Reads single lines, which mostly come from one segment.
class Fetch {
 public:
  explicit Fetch(const sys::Fd& audit) : audit_(audit) {}

  Result<std::string_view> line(const std::string& writer, const IndexRow& row) {
    if (!file_ || writer != writer_ || row.place.segment != segment_) {
      const sys::Fd directory = TRY(open_chain_directory(audit_, writer_path(writer)));
      file_ = TRY(open_segment(directory, row.place.segment));
      writer_ = writer;
      segment_ = row.place.segment;
    }
    text_.resize(row.size);
    const ssize_t got =
        ::pread(file_.get(), text_.data(), text_.size(), static_cast<off_t>(row.place.offset));
    if (got < 0) return fail_errno("read a segment");
    const auto line = parse_line(text_);
    if (static_cast<std::size_t>(got) != row.size || !line || line->digest != row.digest ||
        !digest_holds(text_, *line)) {
      return fail(ErrorCode::kInvalid,
                  writer + ": record " + std::to_string(row.sequence) +
                      " is not the one that the index has; `casemate audit verify` says more");
    }
    return std::string_view(text_);
  }

 private:
  const sys::Fd& audit_;
  sys::Fd file_;
  std::string writer_;
  std::uint32_t segment_ = 0;
  std::string text_;
};

}  // namespace

Result<void> select(const std::string& directory, const Query& query, const EachRecord& each) {
  const sys::Fd audit = TRY(open_audit_directory(directory));
  if (is_everything(query)) return scan(audit, query, each);
  auto index = Index::open(directory + "/" + kIndexName, Index::Mode::kWrite);
  if (!index && index.error().code == ErrorCode::kUnavailable) return scan(audit, query, each);
  if (!index) return tl::unexpected(index.error());
  TRY(update_index(*index, audit));
  Fetch fetch(audit);
  return index->find(query, [&](const std::string& writer, const IndexRow& row) -> Result<void> {
    const std::string_view line = TRY(fetch.line(writer, row));
    return each(writer, line);
  });
}

}  // namespace casemate::audit
