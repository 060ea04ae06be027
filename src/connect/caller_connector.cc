#include "connect/caller_connector.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace casemate::connect {

using bridge::ConnectorAnswer;
using Kind = ConnectorAnswer::Kind;

// Copies of what it was told: whoever took it may keep it longer than the call lasts. A call goes from
// waiting to taken with the connector's mutex and its own held, in that order.
struct CallerConnector::Call {
  std::string capability, arguments, run, idempotency_key;
  Deadline deadline;
  std::mutex mutex;
  std::condition_variable changed;
  bool taken = false;
  bool over = false;  // nobody waits for it any more
  std::optional<ConnectorAnswer> answer;

  Call(const bridge::ConnectorCall& call, Deadline until)
      : capability(call.capability),
        arguments(call.arguments),
        run(call.run),
        idempotency_key(call.idempotency_key),
        deadline(until) {}

  // False: it has an answer, or needs none.
  bool put(ConnectorAnswer what) {
    const std::lock_guard lock(mutex);
    if (over || answer) return false;
    answer = std::move(what);
    changed.notify_one();
    return true;
  }
};

ConnectorAnswer CallerConnector::call(audit::Recorded record, const bridge::ConnectorCall& call,
                                      Deadline deadline) {
  (void)record;
  const auto mine = std::make_shared<Call>(call, deadline);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return {Kind::kNotDone, "whoever answers its calls has closed"};
    if (waiting_.size() >= options_.waiting_max)
      return {Kind::kNotDone, "too many calls wait to be answered"};
    waiting_.push_back(mine);
    waiting_changed_.notify_one();
  }
  {
    std::unique_lock lock(mine->mutex);
    if (mine->changed.wait_until(lock, deadline.instant(), [&] { return mine->answer.has_value(); }))
      return std::move(*mine->answer);
  }
  // It is decided here, under both locks, whether it was ever taken: what is not will not be.
  const std::lock_guard lock(mutex_);
  const std::lock_guard of_call(mine->mutex);
  std::erase(waiting_, mine);
  mine->over = true;
  if (mine->answer) return std::move(*mine->answer);
  if (mine->taken) return {Kind::kUnknown, "no answer in time"};
  return {Kind::kNotDone, "nobody took it in time"};
}

std::optional<CallerConnector::Taken> CallerConnector::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  waiting_changed_.wait_until(lock, deadline.instant(), [&] { return closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  std::shared_ptr<Call> call = std::move(waiting_.front());
  waiting_.pop_front();
  const std::lock_guard of_call(call->mutex);
  call->taken = true;
  return Taken(call);
}

void CallerConnector::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& call : waiting_) (void)call->put({Kind::kNotDone, "whoever answers its calls has closed"});
  waiting_.clear();
  waiting_changed_.notify_all();
}

CallerConnector::Taken::~Taken() {
  if (call_) (void)call_->put({Kind::kUnknown, "whoever took it has not answered"});
}

const std::string& CallerConnector::Taken::capability() const { return call_->capability; }
const std::string& CallerConnector::Taken::arguments() const { return call_->arguments; }
const std::string& CallerConnector::Taken::run() const { return call_->run; }
const std::string& CallerConnector::Taken::idempotency_key() const { return call_->idempotency_key; }
Deadline CallerConnector::Taken::deadline() const { return call_->deadline; }

bool CallerConnector::Taken::answer(ConnectorAnswer answer) && {
  CHECK(call_);
  if (answer.kind == Kind::kNotDone) answer.kind = Kind::kDeclined;
  return std::exchange(call_, nullptr)->put(std::move(answer));
}

}  // namespace casemate::connect
