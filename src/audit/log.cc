#include "audit/log.h"

#include <algorithm>
#include <utility>

namespace casemate::audit {
namespace {

tl::unexpected<Error> unavailable(const Error& error) {
  const std::string prefix = "audit log: ";
  return fail(ErrorCode::kUnavailable,
              error.message.starts_with(prefix) ? error.message : prefix + error.message);
}

}  // namespace

// One record on its way, and the caller who waits for it. Shared, because a caller whose deadline passes
// leaves while another one writes its record.
struct Log::Pending {
  enum class State {
    kQueued,
    kTaken,    // somebody writes it now
    kWritten,  // and it is to be synced
    kDone,
  };
  Pending(std::string_view of_kind, std::string of_body, Durability how, Time when)
      : kind(of_kind), body(std::move(of_body)), durability(how), at(when) {}

  const std::string_view kind;  // a constant of the kind's
  const std::string body;
  const Durability durability;
  const Time at;
  // Guarded by the log's mutex; `position` belongs to whoever writes it while it is kTaken.
  State state = State::kQueued;
  bool abandoned = false;
  Position position;
  std::optional<Error> error;
  std::condition_variable changed;
};

Result<Judged> Log::record(const Verdict& verdict, Durability durability, Deadline deadline) {
  Position position = TRY(append(verdict, durability, deadline));
  switch (verdict.answer) {
    case Answer::kAllow:
      return Judged(Recorded(verdict.run, verdict.call, verdict.capability, std::move(position)));
    case Answer::kAsk:
      return Judged(Asked(verdict.run, verdict.call, verdict.capability, std::move(position)));
    case Answer::kDeny: break;
  }
  return Judged(Refused{std::move(position)});
}

Result<Answered> Log::record(const Approval& approval, Asked asked, Durability durability,
                             Deadline deadline) {
  if (!asked.valid()) return fail(ErrorCode::kInvalid, "the question was answered before");
  if (approval.answer == Answer::kAsk) return fail(ErrorCode::kInvalid, "an answer is allow or deny");
  const AnsweredApproval answered{asked.run(), asked.call(), asked.capability(), asked.sequence(), approval};
  Position position = TRY(append(answered, durability, deadline));
  if (approval.answer == Answer::kAllow)
    return Answered(Recorded(asked.run(), asked.call(), asked.capability(), std::move(position)));
  return Answered(Refused{std::move(position)});
}

Result<Position> Log::commit(std::string_view kind, Result<std::string> body, Durability durability,
                             Deadline deadline) {
  if (!body) return tl::unexpected(body.error());
  if (line_size_max(kind, *body) > kAuditRecordMax)
    return fail(ErrorCode::kInvalid, "an audit record is too large");
  const auto mine = std::make_shared<Pending>(kind, std::move(*body), durability, clock_());
  Lock lock(mutex_);
  if (poisoned_) return tl::unexpected(*poisoned_);
  if (closed_) return fail(ErrorCode::kUnavailable, "audit log: it is closed");
  if (queue_.size() + unsynced_.size() >= kAuditWaitingMax)
    return fail(ErrorCode::kUnavailable, "audit log: too many records wait for the disk");
  queue_.push_back(mine);
  return wait(lock, mine, deadline);
}

// Does what has to be done for `mine` if nobody is at it, else waits for who is.
Result<Position> Log::wait(Lock& lock, const std::shared_ptr<Pending>& mine, Deadline deadline) {
  using State = Pending::State;
  while (mine->state != State::kDone) {
    if (mine->state == State::kQueued && !writing_) {
      write_waiting(lock);
    } else if (mine->state == State::kWritten && !syncing_) {
      sync_written(lock);
    } else if (deadline.passed(now())) {
      mine->abandoned = true;
      std::erase(queue_, mine);
      std::erase(unsynced_, mine);
      wake_next();  // it may have been our turn
      role_free_.notify_all();
      return fail(ErrorCode::kUnavailable, "audit log: the disk did not answer in time");
    } else {
      (void)mine->changed.wait_until(lock, deadline.instant());  // why it returned shows above
    }
  }
  if (mine->error) return tl::unexpected(*mine->error);
  return std::move(mine->position);
}

// Writes the front of the queue as one batch.
void Log::write_waiting(Lock& lock) {
  writing_ = true;
  Result<void> done;
  if (chain_.is_full(line_size_max(queue_.front()->kind, queue_.front()->body))) done = rotate(lock);
  Batch batch;
  if (done) {
    batch = take_batch();
    lock.unlock();
    for (const auto& each : batch) each->position = chain_.add(each->kind, each->body, each->at);
    done = chain_.write();
    lock.lock();
    ++counts_.writes;
  } else {
    // Nobody in the queue has room.
    batch.assign(queue_.begin(), queue_.end());
    queue_.clear();
  }
  if (!done && chain_.broken()) poison(done.error());
  head_ = chain_.head();
  writing_ = false;
  role_free_.notify_all();
  if (!done || poisoned_) {
    finish(batch, done ? Result<void>(tl::unexpected(*poisoned_)) : done);
  } else {
    counts_.records += batch.size();
    Batch buffered;
    for (const auto& each : batch) {
      if (each->durability == Durability::kBuffered || each->abandoned) {
        buffered.push_back(each);
      } else {
        each->state = Pending::State::kWritten;
        unsynced_.push_back(each);
      }
    }
    finish(buffered, done);
  }
  wake_next();
}

// As many of the queue as fit one write and the segment; at least one.
Log::Batch Log::take_batch() {
  Batch batch;
  std::size_t bytes = 0;
  while (!queue_.empty() && batch.size() < kAuditBatchMax) {
    const Pending& next = *queue_.front();
    bytes += line_size_max(next.kind, next.body);
    if (!batch.empty() && (bytes > kAuditBatchBytesMax.count || chain_.is_full(bytes))) break;
    queue_.front()->state = Pending::State::kTaken;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

// Called by who writes. Waits for a sync that is under way: the old segment must be on the disk before the
// next one has a name, and nobody may sync a segment that is being exchanged.
Result<void> Log::rotate(Lock& lock) {
  role_free_.wait(lock, [this] { return !syncing_; });
  if (poisoned_) return tl::unexpected(*poisoned_);
  syncing_ = true;
  const Batch covered = std::exchange(unsynced_, {});
  lock.unlock();
  const Result<void> synced = chain_.sync();
  const Result<void> rotated = synced ? chain_.rotate(clock_()) : synced;
  lock.lock();
  syncing_ = false;
  ++counts_.syncs;
  if (!synced) poison(synced.error());
  finish(covered, synced);
  role_free_.notify_all();
  return rotated;
}

void Log::sync_written(Lock& lock) {
  syncing_ = true;
  const Batch covered = std::exchange(unsynced_, {});
  lock.unlock();
  const Result<void> synced = chain_.sync();
  lock.lock();
  syncing_ = false;
  ++counts_.syncs;
  if (!synced) poison(synced.error());
  finish(covered, synced);
  role_free_.notify_all();
  wake_next();
}

void Log::finish(const Batch& batch, const Result<void>& how) {
  for (const auto& each : batch) {
    each->state = Pending::State::kDone;
    if (!how) each->error = unavailable(how.error()).value();
    each->changed.notify_one();
  }
}

// Nothing is written any more. What is being written now fails when its writer comes back.
void Log::poison(const Error& error) {
  if (!poisoned_) poisoned_ = unavailable(error).value();
  const Result<void> failed = tl::unexpected(*poisoned_);
  finish(std::exchange(unsynced_, {}), failed);
  finish(Batch(queue_.begin(), queue_.end()), failed);
  queue_.clear();
}

// Each role is given to the first who needs it; who wakes finds it free, or taken by somebody quicker.
void Log::wake_next() {
  if (!writing_ && !queue_.empty()) queue_.front()->changed.notify_one();
  if (!syncing_ && !unsynced_.empty()) unsynced_.front()->changed.notify_one();
}

Result<void> Log::close() {
  Lock lock(mutex_);
  if (closed_) return {};
  closed_ = true;
  // Those who are at it finish; each of them ends by itself.
  role_free_.wait(lock, [this] { return idle() && queue_.empty() && unsynced_.empty(); });
  if (poisoned_) return tl::unexpected(*poisoned_);
  const auto written = [&]() -> Result<void> {
    chain_.add(LogEvent::kKind, TRY(body_of(LogEvent{LogEvent::Step::kClosed, {}, {}, 0, 0}, nullptr)),
               clock_());
    TRY(chain_.write());
    return chain_.sync();
  }();
  head_ = chain_.head();
  if (!written) return unavailable(written.error());
  return {};
}

Log::~Log() { (void)close(); }  // nobody could be told

Position Log::head() const {
  const Lock lock(mutex_);
  return head_;
}

Log::Counts Log::counts() const {
  const Lock lock(mutex_);
  return counts_;
}

}  // namespace casemate::audit
