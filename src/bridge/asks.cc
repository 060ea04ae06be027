// Calls that a person is asked about: see bridge.h.
#include <sys/eventfd.h>

#include <utility>

#include "base/check.h"
#include "bridge/arguments.h"
#include "bridge/bridge.h"
#include "bridge/perform.h"
#include "bridge/shared.h"
#include "crypto/sha256.h"

namespace casemate::bridge {

using approve::Answer;

// Its verdict is recorded: now the question is put. The labels are those of this moment, since others of the
// run's calls may have brought some while it was recorded.
void Bridge::wait_for_person(const std::shared_ptr<Job>& job) {
  const Instant at = now();
  approve::Question question;
  question.id = job->verdict.call;
  question.run = run_;
  question.capability = job->verdict.capability;
  question.arguments = job->arguments;
  for (const auto& [label, source] : state_.labels.all()) question.labels.emplace_back(label, source);
  question.rule = job->verdict.rule;
  question.reason = job->verdict.reason;
  // All that wait together end together: one that comes later does not keep the box for longer.
  if (asking_.empty()) ask_until_ = Deadline::at(at + grants_->ask_time);
  job->asked_at = last_ask_ = at;
  const auto check = [grants = grants_, granted = job->granted,
                      most = limits_.arguments](const std::string& text) -> Result<std::string> {
    Arguments arguments = TRY(check_arguments(*granted, text, most));
    return std::move(arguments.text);
  };
  // May come after this bridge, which is why it holds what it writes to.
  const auto settle = [shared = shared_, id = question.id](Answer answer) {
    const std::lock_guard lock(shared->mutex);
    shared->settled.push_back({id, std::move(answer)});
    (void)::eventfd_write(shared->finished.get(), 1);
  };
  asking_[question.id] = job;
  if (auto put = grants_->desk->ask(std::move(question), at, *ask_until_, check, settle); !put)
    settled({job->verdict.call, Answer{Answer::Kind::kDeny, "nobody", put.error().message}});
}

void Bridge::settled(const Settled& settled) {
  const auto found = asking_.find(settled.id);
  if (found == asking_.end()) return;
  const std::shared_ptr<Job> job = std::move(found->second);
  asking_.erase(found);
  if (asking_.empty()) ask_until_.reset();
  const Answer& answer = settled.answer;
  job->approval = audit::Approval{audit::Answer::kDeny, answer.by, answer.reason};
  outcome::AskedCall told{"deny", answer.by};
  switch (answer.kind) {
    case Answer::Kind::kAllow: approved(*job, answer, told); break;
    case Answer::Kind::kDeny:
      job->refusal = answer.by == "nobody"
                         ? "it has to be approved by a person, who cannot be asked: " + answer.reason
                         : "a person refused it";
      break;
    case Answer::Kind::kExpired:
      told.answer = "expired";
      job->refusal = "it has to be approved by a person, and nobody answered in time";
      job->approval->reason = "nobody answered in time";
      break;
    case Answer::Kind::kOver:
      told.answer = "over";
      job->approval->reason = "the run is over";
      break;
  }
  const auto waited = std::chrono::duration_cast<milliseconds>(now() - job->asked_at);
  told.waited_ms = static_cast<std::uint64_t>(waited.count());
  if (job->told > 0) told_.at(job->told - 1).asked = told;
  start(job);
}

// Judged again: the arguments may be others, and the labels more. What is denied stays denied; an ask is what
// this answer is for.
void Bridge::approved(Job& job, const Answer& answer, outcome::AskedCall& told) {
  audit::Approval& approval = *job.approval;
  auto arguments = check_arguments(*job.granted, answer.arguments.value_or(job.arguments), limits_.arguments);
  if (!arguments) {  // the desk has checked them
    approval.reason = job.refusal = arguments.error().message;
    return;
  }
  const policy::Capability& capability = job.granted->tool.capability;
  const policy::Call call{arguments->value, policy::Origin::kBox};
  const policy::Verdict verdict = policy::judge(grants_->policy, capability, call, state_);
  told.answer = "allow";
  told.edited = arguments->text != job.arguments;
  if (told.edited) {
    approval.arguments_sha256 = crypto::sha256_hex(arguments->text);
    approval.destination = destination_of(job.granted->tool, arguments->value);
    job.arguments = std::move(arguments->text);
  }
  if (verdict.decision == policy::Decision::kDeny) {
    const policy::Ground& ground = verdict.grounds.front();
    job.refusal = "a person allowed it, and policy does not";
    job.verdict.rule = ground.rule;
    job.verdict.reason = ground.reason;
    approval.reason = "policy denies what was allowed: " + ground.rule;
    return;
  }
  approval.answer = audit::Answer::kAllow;
  policy::charge(grants_->policy, capability, call, state_);
}

bool Bridge::still(Instant at) const {
  return !asking_.empty() && at_work_ == 0 && waiting_.empty() && sent_ == outbox_.size() &&
         at >= still_from();
}

void Bridge::expire(Instant at) {
  if (ask_until_ && ask_until_->passed(at)) grants_->desk->expire(at);
}

}  // namespace casemate::bridge
