// How a log is opened: directory, lock, key, chain, manifest, and then the record `opened`. Each step is on
// the disk before the next; a crash between two of them leaves what the next to open it goes on from.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "audit/layout.h"
#include "audit/log.h"
#include "audit/manifest.h"
#include "audit/segment.h"
#include "crypto/random.h"
#include "crypto/sha256.h"

namespace casemate::audit {
namespace {

constexpr const char* kKeyName = "key";
constexpr const char* kNewKeyName = "key.new";
constexpr std::size_t kKeySize = 32;
// So that the digest that is recorded is of nothing that the key is used for.
constexpr std::string_view kKeyDigestPrefix = "casemate audit key\n";

Result<std::string> make_key(const sys::Fd& directory, Disk& disk) {
  std::array<std::uint8_t, kKeySize> raw{};
  crypto::fill_random(raw);
  std::string key(raw.begin(), raw.end());
  if (::unlinkat(directory.get(), kNewKeyName, 0) < 0 && errno != ENOENT) return fail_errno("remove key.new");
  const sys::Fd file = TRY(
      sys::open_at(directory.get(), kNewKeyName, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  TRY(disk.append(file, key));
  TRY(disk.sync(file));
  TRY(disk.rename(directory, kNewKeyName, kKeyName));
  TRY(disk.sync_directory(directory));
  return key;
}

// The key that hashes destinations. A log that has records and no key is not given another one, whose hashes
// would not be comparable with those before.
Result<std::string> find_key(const sys::Fd& directory, Disk& disk) {
  const auto file = sys::open_at(directory.get(), kKeyName, O_RDONLY | O_NOFOLLOW);
  if (!file && file.error().errno_value == ENOENT) {
    const std::vector<std::uint32_t> segments = TRY(list_segments(directory));
    if (segments.empty()) return make_key(directory, disk);
    return fail(ErrorCode::kUnavailable, "this log's key is gone; put it back, or go on under another name");
  }
  if (!file) return tl::unexpected(file.error());
  struct stat status {};
  if (::fstat(file->get(), &status) < 0) return fail_errno("fstat key");
  if ((status.st_mode & 0077U) != 0)
    return fail(ErrorCode::kUnavailable, "others can read this log's key: chmod go= it");
  std::string key = TRY(sys::read_file(*file, kKeySize));
  if (key.size() != kKeySize)
    return fail(ErrorCode::kUnavailable, "this log's key does not have its 32 bytes");
  return key;
}

const char* found_name(Found found) {
  switch (found) {
    case Found::kNew: return "new";
    case Found::kClosed: return "closed";
    case Found::kCrash: return "crash";
  }
  return "";
}

std::span<const std::uint8_t> octets(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

Log::Log(sys::Fd lock, Chain chain, const crypto::HmacKey& key, const LogOptions& options)
    : lock_(std::move(lock)),
      key_(key),
      clock_(options.clock),
      instance_(chain.instance()),
      found_(chain.found()),
      chain_(std::move(chain)),
      head_(chain_.head()) {}

Result<std::unique_ptr<Log>> Log::open_parts(const LogOptions& options, Disk& disk) {
  const Time at = options.clock();
  const sys::Fd audit = TRY(make_audit_directory(options.directory, disk));
  sys::Fd directory = TRY(make_chain_directory(audit, writer_path(options.writer), disk));
  sys::Fd lock = TRY(lock_chain(directory, Deadline::at(now())));
  const std::string key = TRY(find_key(directory, disk));
  Chain chain = TRY(Chain::open(std::move(directory),
                                {.writer = options.writer, .segment_max = options.segment_max}, disk, at));
  TRY(list_writer(audit, {options.writer, chain.instance()}, disk, at));
  const LogEvent opened{LogEvent::Step::kOpened, found_name(chain.found()),
                        crypto::sha256_hex(std::string(kKeyDigestPrefix) + key), 0, 0};
  chain.add(LogEvent::kKind, TRY(body_of(opened, nullptr)), at);
  TRY(chain.write());
  TRY(chain.sync());
  return std::unique_ptr<Log>(
      new Log(std::move(lock), std::move(chain), crypto::HmacKey(octets(key)), options));
}

Result<std::unique_ptr<Log>> Log::open(const LogOptions& options) {
  if (!is_writer_name(options.writer))
    return fail(ErrorCode::kInvalid, "a writer's name is of a-z, 0-9, '-', '_' and '.', at most 64 of them");
  if (options.segment_max > kAuditSegmentMax)
    return fail(ErrorCode::kInvalid, "a segment has at most " + format_bytes(kAuditSegmentMax));
  auto opened = open_parts(options, options.disk != nullptr ? *options.disk : real_disk());
  if (opened || opened.error().code == ErrorCode::kInvalid) return opened;
  const std::string prefix = "audit log: ";
  const std::string& message = opened.error().message;
  return tl::unexpected(Error{ErrorCode::kUnavailable,
                              message.starts_with(prefix) ? message : prefix + message,
                              opened.error().errno_value});
}

}  // namespace casemate::audit
