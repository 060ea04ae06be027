#include "approve/desk.h"

#include <algorithm>

#include "json/utf8.h"

namespace casemate::approve {
namespace {

std::string become(const Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::kAllow: return "it was allowed already (" + answer.by + ")";
    case Answer::Kind::kDeny: return "it was denied already (" + answer.by + ")";
    case Answer::Kind::kExpired: return "nobody answered in time, so it was denied";
    case Answer::Kind::kOver: break;
  }
  return "its run is over";
}

}  // namespace

Error Desk::why_not(std::string_view id) const {
  const auto found =
      std::find_if(settled_.begin(), settled_.end(), [&](const auto& one) { return one.first == id; });
  const std::string name = json::one_line(id, kWordsMax);
  if (found != settled_.end()) return {ErrorCode::kDenied, name + ": " + found->second};
  return {ErrorCode::kNotFound, "no call '" + name + "' waits for an answer"};
}

Result<void> Desk::ask(Question question, Instant at, Deadline until, Check check, Settle settle) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kPendingMax)
    return fail(ErrorCode::kExhausted,
                "too many calls wait for a person: at most " + std::to_string(kPendingMax) + " may");
  std::string id = question.id;
  const bool was =
      std::any_of(settled_.begin(), settled_.end(), [&](const auto& one) { return one.first == id; });
  if (was || waiting_.contains(id)) return fail(ErrorCode::kInvalid, "a call asks twice");
  Pending pending{std::make_shared<const Question>(std::move(question)), at, until};
  waiting_.emplace(std::move(id), Waiting{std::move(pending), std::move(check), std::move(settle)});
  return {};
}

std::vector<Desk::Pending> Desk::pending() const {
  std::vector<Pending> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, one] : waiting_) all.push_back(one.pending);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Pending& a, const Pending& b) { return a.asked_at < b.asked_at; });
  return all;
}

Result<Desk::Pending> Desk::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return tl::unexpected(why_not(id));
  return found->second.pending;
}

void Desk::settle(Map::iterator which, Answer answer) {
  if (settled_.size() == kSettledMax) settled_.pop_front();
  settled_.emplace_back(which->first, become(answer));
  const Waiting one = std::move(which->second);
  waiting_.erase(which);
  one.settle(std::move(answer));
}

Result<void> Desk::answer(std::string_view id, Answer answer, Instant at) {
  answer.reason = std::string(json::cut_text(answer.reason, kWordsMax));
  Check check;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return tl::unexpected(why_not(id));
    check = found->second.check;
  }
  // Not under the lock: a megabyte against a schema takes its time.
  if (answer.arguments) answer.arguments = TRY(check(*answer.arguments));
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return tl::unexpected(why_not(id));
  if (found->second.pending.until.passed(at)) {
    settle(found, Answer{Answer::Kind::kExpired, "nobody"});
    return tl::unexpected(why_not(id));
  }
  settle(found, std::move(answer));
  return {};
}

void Desk::expire(Instant at) {
  const std::lock_guard lock(mutex_);
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    if (one->second.pending.until.passed(at)) settle(one, Answer{Answer::Kind::kExpired, "nobody"});
    one = next;
  }
}

void Desk::close(std::string_view run) {
  const std::lock_guard lock(mutex_);
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    if (one->second.pending.question->run == run) settle(one, Answer{Answer::Kind::kOver, "nobody"});
    one = next;
  }
}

}  // namespace casemate::approve
