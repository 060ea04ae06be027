// The records of a run in the audit log: allocated, executed, torn down; and the weakenings that they tell
// of.
#include <optional>
#include <utility>
#include <vector>

#include "audit/record.h"
#include "engine/run.h"
#include "outcome/outcome.h"

namespace casemate::engine {
namespace {

constexpr milliseconds kRecordTime{10'000};

const char* verdict_name(outcome::TeardownVerdict verdict) {
  return verdict == outcome::TeardownVerdict::kDestroyed ? "destroyed" : "quarantined";
}

// Root always has ids to give, whatever was accepted.
std::vector<outcome::Weakening> weakenings_in_effect(const box::Weakenings& asked, const frame::Hello& host) {
  std::vector<outcome::Weakening> found;
  if (asked.single_id && host.by_root == 0)
    found.push_back({"single-id", "the box has the user's own id outside and not one of its own"});
  if (asked.no_cgroup)
    found.push_back({"no-cgroup", "memory, processes and CPU time are limited per process only"});
  return found;
}

// What all three say.
audit::RunEvent event_of(const outcome::Outcome& result, audit::RunEvent::Step step) {
  audit::RunEvent event;
  event.run = result.run_id;
  event.step = step;
  event.tenant = result.tenant;
  event.sandbox = result.sandbox_id;
  event.image = result.image_digest;
  event.isolation = result.isolation;
  event.volume = result.volume.id;
  for (const outcome::Weakening& weakening : result.weakenings) event.weakenings.push_back(weakening.name);
  if (result.below_floor) event.weakenings.emplace_back("below-floor");
  return event;
}

milliseconds ms(std::uint64_t count) { return milliseconds(static_cast<milliseconds::rep>(count)); }

}  // namespace

// What the run departs from, as far as the host is known.
std::vector<outcome::Weakening> Engine::weakenings_of(const Request& request, const Lease* slot) const {
  std::vector<outcome::Weakening> found;
  if (hello_) found = weakenings_in_effect(request.weakenings, *hello_);
  if (slot != nullptr && slot->sandbox == Sandbox::kShared)
    found.push_back({"shared-sandbox", "runs of this tenant before and after it were in the same sandbox"});
  return found;
}

// Records that the run has its slot, or is about to get a box. What would refuse it is asked first, so that
// what is recorded is what then happens. Nothing: it is recorded.
std::optional<outcome::ReasonGiven> Engine::allocate(const Request& request, const Image& image,
                                                     const Lease* lease, outcome::Outcome& result) {
  const auto hello = host();
  if (!lease && !hello && hello.error().code == ErrorCode::kDenied)
    return outcome::ReasonGiven{outcome::Reason::kIsolationUnavailable, hello.error().message, {}};
  if (!lease) {
    const auto choice = choose_rung(request, paths_.rungs);
    std::unique_lock lock(*mutex_);
    const auto runtime = choice ? runtimes_.of(choice->rung, image) : tl::unexpected<Error>(choice.error());
    lock.unlock();
    if (!runtime)
      return outcome::ReasonGiven{outcome::Reason::kIsolationUnavailable, runtime.error().message, {}};
  }
  result.weakenings = weakenings_of(request, lease);
  const auto put = record_allocated(result);
  if (put) return std::nullopt;
  return outcome::ReasonGiven{
      outcome::Reason::kAuditUnavailable, "the run could not be recorded: " + put.error().message, {}};
}

Result<void> Engine::record_allocated(const outcome::Outcome& result) {
  const audit::RunEvent event = event_of(result, audit::RunEvent::Step::kAllocated);
  TRY(log_->append(event, audit::Durability::kDurable, Deadline::in(kRecordTime)));
  return {};
}

// Buffered: the torn-down that follows is durable, and covers it.
void Engine::record_executed(outcome::Outcome& result) {
  if (log_ == nullptr) return;
  audit::RunEvent event = event_of(result, audit::RunEvent::Step::kExecuted);
  event.status = outcome::status_name(result.ending.status);
  event.queue_wait = ms(result.timing.queue_wait_ms);
  event.checkout = ms(result.timing.checkout_ms);
  event.execution = ms(result.timing.execution_ms);
  event.artifact = ms(result.timing.artifact_ms);
  event.artifacts = result.artifacts.size() + result.artifacts_left_out;
  const auto put = log_->append(event, audit::Durability::kBuffered, Deadline::in(kRecordTime));
  if (!put) result.not_recorded = put.error().message;
}

void Engine::record_torn_down(outcome::Outcome& result) {
  if (log_ == nullptr) return;
  audit::RunEvent event = event_of(result, audit::RunEvent::Step::kTornDown);
  event.status = verdict_name(result.teardown);
  event.teardown = ms(result.timing.teardown_ms);
  const auto put = log_->append(event, audit::Durability::kDurable, Deadline::in(kRecordTime));
  if (!put) result.not_recorded = put.error().message;
}

}  // namespace casemate::engine
