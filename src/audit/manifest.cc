#include "audit/manifest.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "audit/chain.h"
#include "audit/layout.h"
#include "audit/segment.h"
#include "base/limits.h"

namespace casemate::audit {
namespace {

constexpr milliseconds kLockWait{5'000};

Result<bool> is_listed(const sys::Fd& audit, const ListedWriter& writer) {
  const std::vector<ListedWriter> listed = TRY(listed_writers(audit));
  return std::find(listed.begin(), listed.end(), writer) != listed.end();
}

// Who listed it may have died before that was on the disk.
Result<void> sync_last_segment(const sys::Fd& manifest, Disk& disk) {
  const std::vector<std::uint32_t> segments = TRY(list_segments(manifest));
  if (segments.empty()) return {};
  const sys::Fd last = TRY(open_segment(manifest, segments.back()));
  TRY(disk.sync(last));
  return disk.sync_directory(manifest);
}

}  // namespace

Result<void> list_writer(const sys::Fd& audit, const ListedWriter& writer, Disk& disk, Time at) {
  sys::Fd directory = TRY(make_chain_directory(audit, kManifestName, disk));
  const bool known = TRY(is_listed(audit, writer));
  if (known) return sync_last_segment(directory, disk);
  const sys::Fd lock = TRY(lock_chain(directory, Deadline::in(kLockWait)));
  Chain chain = TRY(Chain::open(std::move(directory), {.writer = kManifestName}, disk, at));
  std::string body = TRY(body_of(writer, nullptr));
  if (chain.is_full(line_size_max(ListedWriter::kKind, body))) {
    TRY(chain.sync());
    TRY(chain.rotate(at));
  }
  chain.add(ListedWriter::kKind, body, at);
  TRY(chain.write());
  return chain.sync();
}

Result<std::vector<ListedWriter>> listed_writers(const sys::Fd& audit) {
  std::vector<ListedWriter> listed;
  auto directory = open_chain_directory(audit, kManifestName);
  if (!directory && directory.error().errno_value == ENOENT) return listed;
  Cursor cursor(TRY(std::move(directory)), Place{});
  std::string_view text;
  while (TRY(cursor.next(text))) {
    const Line line = TRY(parse_line(text));
    if (line.kind != ListedWriter::kKind) continue;
    if (listed.size() == kAuditWritersMax)
      return fail(ErrorCode::kExhausted,
                  "the manifest names more than " + std::to_string(kAuditWritersMax) + " writers");
    const json::Value members = TRY(read_members(text));
    listed.push_back(
        {std::string(text_member(members, "writer")), std::string(text_member(members, "instance"))});
  }
  return listed;
}

}  // namespace casemate::audit
