// The log of one writing instance: what is about to happen is written down here first.
//
// Many threads append. There is no thread of the log's own: whoever finds nobody at it writes what all have
// brought, and whoever finds nobody at it syncs what all have written. So a caller that is alone waits for
// nobody but the disk, and of 64 callers one waits for the disk on behalf of all. Writing goes on while a
// sync runs.
//
// A record that could not be written has not happened, and whoever sent it gets `unavailable`; outcomes call
// it kUnavailableReason. A full disk can be tried again later. After a sync that failed nobody knows what is
// on the disk, and a later one that succeeds would be a lie: the log then refuses everything until it is
// opened again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/chain.h"
#include "audit/disk.h"
#include "audit/line.h"
#include "audit/record.h"
#include "audit/recorded.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/result.h"
#include "crypto/hmac.h"
#include "sys/fd.h"

namespace casemate::audit {

inline constexpr const char* kUnavailableReason = "audit_unavailable";

enum class Durability {
  kDurable,   // on the disk: nothing loses it
  kBuffered,  // in the kernel: a crash of the process does not lose it, one of the machine may. Where policy
              // allows
};

struct LogOptions {
  std::string directory;  // the audit directory; made if it is missing
  std::string writer;     // this writer's name there (layout.h: is_writer_name)
  Bytes segment_max = kAuditSegmentUsual;
  Disk* disk = nullptr;  // nullptr: the real one. It must outlive the log
  Time (*clock)() = wall_clock;
};

// Thread-safe. It must outlive all calls.
class Log {
 public:
  // Opens the log of that name or begins it, and puts it on the manifest; the record `opened` is durable
  // then. Errors: unavailable (another process has it: EBUSY; it cannot be written, its key is gone), invalid
  // (options; its end is not as a crash would leave it: nothing was changed).
  static Result<std::unique_ptr<Log>> open(const LogOptions& options);
  // Closes it, if nobody has, and ignores what fails then: the next to open it finds it as after a crash.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Records a verdict. What comes back is there only when the record is as durable as was asked for: Recorded
  // for allow, Asked for ask, Refused for deny. Errors: unavailable (it is not recorded, or nobody knows;
  // nothing may happen), invalid (the verdict is not as record.h has it). A deadline that passes is
  // `unavailable`; the record may still come into the log.
  Result<Judged> record(const Verdict& verdict, Durability durability, Deadline deadline);
  // Records the one answer to a question: Recorded for allow, Refused for anything else. Errors: the same.
  // After any of them the question is gone.
  Result<Answered> record(const Approval& approval, Asked asked, Durability durability, Deadline deadline);
  // Records anything else. Errors: the same.
  template <Kind T>
  Result<Position> append(const T& record, Durability durability, Deadline deadline) {
    return commit(T::kKind, body_of(record, &key_), durability, deadline);
  }

  // Writes the record `closed`. What comes later is refused. Waits for those who are at it. Errors:
  // unavailable.
  Result<void> close();

  // The last record that was written. Kept elsewhere, it lets `verify --head` show that nothing before it was
  // changed.
  Position head() const;
  const std::string& instance() const { return instance_; }
  Found found() const { return found_; }

  struct Counts {
    std::uint64_t records = 0;  // appended, without the log's own
    std::uint64_t writes = 0;
    std::uint64_t syncs = 0;
  };
  Counts counts() const;

 private:
  struct Pending;
  using Lock = std::unique_lock<std::mutex>;
  using Batch = std::vector<std::shared_ptr<Pending>>;

  Log(sys::Fd lock, Chain chain, const crypto::HmacKey& key, const LogOptions& options);

  static Result<std::unique_ptr<Log>> open_parts(const LogOptions& options, Disk& disk);
  Result<Position> commit(std::string_view kind, Result<std::string> body, Durability durability,
                          Deadline deadline);
  Result<Position> wait(Lock& lock, const std::shared_ptr<Pending>& mine, Deadline deadline);
  void write_waiting(Lock& lock);
  Result<void> rotate(Lock& lock);
  Batch take_batch();
  void sync_written(Lock& lock);
  void finish(const Batch& batch, const Result<void>& how);
  void poison(const Error& error);
  void wake_next();
  bool idle() const { return !writing_ && !syncing_; }

  sys::Fd lock_;
  const crypto::HmacKey key_;
  Time (*const clock_)();
  const std::string instance_;
  const Found found_;

  mutable std::mutex mutex_;
  // Guarded by mutex_, but for the chain: whoever has set writing_ adds, writes and rotates, without the
  // mutex; whoever has set syncing_ syncs. A rotation sets both.
  Chain chain_;
  bool writing_ = false;
  bool syncing_ = false;
  std::condition_variable role_free_;           // writing_ or syncing_ was unset
  std::deque<std::shared_ptr<Pending>> queue_;  // to be written
  Batch unsynced_;                              // written, to be synced
  Position head_;
  Counts counts_;
  bool closed_ = false;
  std::optional<Error> poisoned_;
};

}  // namespace casemate::audit
