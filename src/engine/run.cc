// Theory of operation: one run.
//
// The engine holds the read ends of the program's output pipes, one end of the runner's control
// socket and the socket of its private warden, and waits on all of them in one loop. Bytes from the
// box go into bounded captures; nothing that a box sends can grow the engine. The run is over when
// the warden says so, which it does when the box's pid namespace is gone: not when a pipe ends, which
// a child in the background could put off for ever. Then what is still in the pipes is read, the
// products are copied out of the dead box's layer, the box is destroyed, and the outcome is decided.
#include "engine/run.h"

#include <utility>
#include <vector>

#include "crypto/random.h"
#include "crypto/sha256.h"
#include "engine/box_command.h"
#include "engine/collect.h"
#include "engine/live_run.h"
#include "outcome/decide.h"
#include "outcome/report.h"
#include "sys/process.h"

namespace casemate::engine {
namespace {

using outcome::Outcome;
using outcome::Reason;

constexpr milliseconds kHelloTime{20'000};
constexpr milliseconds kAnswerTime{30'000};
// Descriptors that one waiting slot takes, of the engine and of the warden each, where control groups are
// many; and what they need beside slots.
constexpr std::uint64_t kSlotFilesMax = 16;
constexpr std::uint64_t kOwnFiles = 128;

std::uint64_t ms_between(Instant from, Instant to) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(to - from).count());
}

Outcome new_outcome(const Request& request, const Result<RungChoice>& choice) {
  Outcome result;
  result.run_id = "run_" + crypto::random_hex(12);
  result.tenant = request.tenant;
  result.isolation = choice ? rung_name(choice->rung) : wanted_rung(request);
  result.below_floor = choice && choice->below_floor;
  if (choice) result.accelerator = choice->accelerator;
  result.requested = request.requested;
  result.effective = effective_limits(request.limits);
  return result;
}

// Our own failure, in words that cannot be taken for the program's.
outcome::Observed lost(const Request& request, frame::EndCause cause, std::string why) {
  outcome::Observed observed;
  observed.cause = cause;
  observed.failure = std::move(why);
  observed.effective = effective_limits(request.limits);
  return observed;
}

}  // namespace

Result<Engine> Engine::start(const Paths& paths, const box::Weakenings& weakenings) {
  box::WardenClient warden = TRY(box::WardenClient::start({paths.warden, weakenings}));
  return Engine(paths, std::move(warden));
}

Result<frame::Hello> Engine::host() {
  if (!hello_) hello_ = TRY(warden_->hello(Deadline::in(kHelloTime)));
  return *hello_;
}

Result<void> Engine::use_slots(const pool::PoolConfig& config, std::size_t hot) {
  // The warden has the same limit. Without this a slot beyond it would fail somewhere in its making.
  const std::uint64_t needed = kOwnFiles + kSlotFilesMax * hot;
  if (const std::uint64_t files = sys::raise_open_files(); files < needed) {
    return fail(ErrorCode::kExhausted, std::to_string(hot) + " hot slots need " + std::to_string(needed) +
                                           " open files, and this process may have " + std::to_string(files) +
                                           ": raise the hard limit (ulimit -Hn, LimitNOFILE=)");
  }
  slots_.emplace(TRY(Slots::make(config, *warden_, *next_box_, *records_)));
  hot_ = hot;
  return {};
}

Result<void> Engine::prepare(const Request& request, const Image& image, std::size_t hot, Deadline deadline) {
  return wait_for_slots(request, image, hot, /*warm_too=*/false, deadline);
}

Result<void> Engine::await_slots(const Request& request, const Image& image, std::size_t count,
                                 Deadline deadline) {
  return wait_for_slots(request, image, count, /*warm_too=*/true, deadline);
}

Result<void> Engine::await_quiet(Deadline deadline) {
  std::unique_lock lock(*mutex_);
  if (!slots_) return {};
  const auto quiet = [&] { return slots_->pool().preparing() == 0; };
  TRY(await(lock, quiet, deadline));
  if (!quiet()) return fail(ErrorCode::kDeadline, "slots are still being made");
  return {};
}

Result<void> Engine::wait_for_slots(const Request& request, const Image& image, std::size_t count,
                                    bool warm_too, Deadline deadline) {
  std::unique_lock lock(*mutex_);
  if (!slots_) return fail(ErrorCode::kInternal, "slots are not in use");
  const frame::Hello hello = TRY(host());
  const RungChoice choice = TRY(choose_rung(request, paths_.rungs));
  const Runtime runtime = TRY(runtimes_.of(choice.rung, image));
  const pool::SlotClass slot_class = TRY(slots_->class_for(request, image, paths_, hello, runtime));
  slots_->keep(slot_class, hot_);
  const auto enough = [&] { return slots_->parked(slot_class, warm_too) >= count; };
  if (warm_too && !enough()) {
    if (!service_) TRY(slots_->read_events());
    if (!enough()) slots_->lacks(slot_class, now());
  }
  std::optional<std::string> hopeless;
  const auto decided = [&] {
    if (enough()) return true;
    hopeless = slots_->hopeless(slot_class, now());
    return hopeless.has_value();
  };
  TRY(await(lock, decided, deadline));
  if (enough()) return {};
  if (hopeless) return fail(ErrorCode::kUnavailable, *hopeless);
  const Slots::Taken taken = slots_->take(slot_class, now());
  const std::string& why = taken.reason;
  if (taken.lease) slots_->ended(taken.lease->slot, "", RunEnd::kOther, now());
  return fail(ErrorCode::kDeadline, "no slot is ready in time" + (why.empty() ? "" : ": " + why));
}

void Engine::settle(Outcome& result, Deadline deadline) {
  std::unique_lock lock(*mutex_);
  if (const auto past = past_.find(result.volume.id); past != past_.end()) {
    if (slots_) slots_->give_back(std::move(past->second));
    past_.erase(past);
  }
  if (slots_) look_after_slots();
  if (!slots_ || result.teardown != outcome::TeardownVerdict::kPending) return;
  const auto settled = [&] { return slots_->verdict(result.volume.id).has_value(); };
  (void)await(lock, settled, deadline);  // a warden that is gone proves nothing
  const auto gone = slots_->verdict(result.volume.id);
  result.teardown =
      gone && gone->destroyed ? outcome::TeardownVerdict::kDestroyed : outcome::TeardownVerdict::kQuarantined;
  if (gone) result.usage.minor_faults = gone->minor_faults;
  if (const outcome::BoxRecord* record = records_->find(result.volume.id)) result.record = *record;
  lock.unlock();
  record_torn_down(result);
}

// No pool keeps a record of such a box.
void Engine::record_cold(const Run& live, Outcome& result, const Over& over) {
  pool::SlotRecord record;
  // An init that said so is not enough: the guest's own steps can fail after it.
  const frame::BoxStarted* started = over.whole && live.run.started() ? &*live.run.started() : nullptr;
  record.birth.asked_at = live.asked_at;
  BoxFacts facts{result.sandbox_id,
                 result.run_id,
                 result.image_digest,
                 result.isolation,
                 result.volume.id,
                 live.cold_reason,
                 {},
                 {},
                 {},
                 {}};
  if (started) {
    record.birth = birth_of(result.volume.id, started->walls_on);
    record.birth.asked_at = live.asked_at;
    record.birth.ready_at = live.run.started_at();
    facts.outside_id = started->outside_id;
    facts.setup_us = started->setup_us;
  }
  if (hello_) facts.waived = waived_walls(live.request.weakenings, *hello_, live.rung);
  record.death.why = over.failure.empty() ? "its run is over" : over.failure;
  record.death.over_at = over.at;
  if (over.gone) {
    record.death.rows = pool::death_rows(proof_of(*over.gone));
    record.death.ended_at = now();
    facts.teardown_us = over.gone->teardown_us;
    if (over.gone->destroyed == 0) record.death.ended_as = pool::SlotState::kQuarantined;
    if (const pool::Row* row = pool::first_unproven(record.death.rows, {}))
      record.death.quarantined_for = pool::unproven_reason(*row);
  }
  result.record = box_record(record, std::move(facts), now());
  const std::lock_guard lock(*mutex_);
  records_->add(*result.record);
}

// A slot for the request, if there is one; else why not. With the mutex held.
Slots::Taken Engine::take_slot(const Request& request, const Image& image, frame::Rung rung) {
  const auto hello = host();
  if (!hello) return {};  // the cold path says so
  const auto runtime = runtimes_.of(rung, image);
  if (!runtime) return {};  // likewise
  const auto slot_class = slots_->class_for(request, image, paths_, *hello, *runtime);
  if (!slot_class) return {std::nullopt, slot_class.error().message};
  slots_->keep(*slot_class, hot_);
  // What is already said is read, so that a slot that has become ready is seen; nothing is waited for, and
  // nothing begun that would compete with the run.
  if (!service_) (void)slots_->read_events();
  return slots_->take(*slot_class, now());
}

// As take_slot(); the reason is kept as the last one.
std::optional<Lease> Engine::slot_for(const Request& request, const Image& image, frame::Rung rung,
                                      std::string& why) {
  if (!slots_) {
    why = "no slots are kept";
    return std::nullopt;
  }
  Slots::Taken taken = take_slot(request, image, rung);
  if (!taken.lease) cold_reason_ = why = std::move(taken.reason);
  return std::move(taken.lease);
}

// Its end and its successor come after the answer: settle() begins them.
void Engine::end_slot(Run& live, const std::string& run_id) {
  const std::lock_guard lock(*mutex_);
  if (!live.slot) return look_after_slots();
  hang_up(live);
  slots_->ended(*live.slot, run_id, live.run.end(), now());
}

// A box of its own is asked for. The error of the inner result is one of our own failures, that of the outer
// one says why such a box is not to be had here at all.
Result<Result<void>> Engine::start_cold(Run& live, const Image& image) {
  std::unique_lock lock(*mutex_);
  const bool known = hello_.has_value();
  const Runtime runtime = TRY(runtimes_.of(live.rung, image));
  lock.unlock();
  Result<void> started = live.run.start(paths_, runtime);
  const auto hello = host();
  if (hello && !known && warden_->started_again()) started = live.run.start(paths_, runtime);
  if (hello) return started;
  if (hello.error().code == ErrorCode::kDenied) return tl::unexpected<Error>(hello.error());
  return Result<void>(tl::unexpected<Error>(hello.error()));
}

Outcome Engine::run(const Request& request, const Image& image, Products& products, const Hooks& hooks) {
  const Instant asked_at = now();
  const auto choice = choose_rung(request, paths_.rungs);
  if (!choice)
    return refused_outcome(request, paths_.rungs, Reason::kIsolationUnavailable, choice.error().message);
  const frame::Rung rung = choice->rung;
  std::string cold_reason;
  std::unique_ptr<Switchboard::Line> line;
  std::unique_lock lock(*mutex_);
  std::optional<Lease> lease = slot_for(request, image, rung, cold_reason);
  const std::uint64_t box = lease ? lease->box : (*next_box_)++;
  if (auto failed = open_line(box, line); !failed) {
    if (lease) slots_->ended(lease->slot, "", RunEnd::kOther, now());
    return refused_outcome(request, paths_.rungs, Reason::kSandboxUnavailable, failed.error().message);
  }
  std::unique_ptr<char[]> chunk = take_chunk();
  lock.unlock();
  box::WardenLine& warden = line ? static_cast<box::WardenLine&>(*line) : *warden_;
  LiveRun run(request, warden, box, products, hooks, others(), {chunk.get(), kReadChunk});
  Run live{request,  products, run,  warden,       line.get(),
           asked_at, box,      rung, std::nullopt, std::move(cold_reason)};
  if (lease) live.slot = lease->slot;
  const auto refuse = [&](Reason reason, const std::string& message) {
    Outcome refused = refused_outcome(request, paths_.rungs, reason, message);
    refused.image_digest = image.digest;
    return refused;
  };
  const auto outcome_in = [&](const Lease* slot) {
    Outcome made = new_outcome(request, choice);
    made.image_digest = image.digest;
    made.volume.id = slot != nullptr ? slot->volume : "vol_" + crypto::random_hex(8);
    made.sandbox_id = slot != nullptr ? slot->name : "box_" + crypto::random_hex(8);
    return made;
  };
  if (!lease && !has_python(image.rootfs)) return refuse(Reason::kImageUnavailable, kNoPython);
  Outcome result;
  if (log_ != nullptr) {
    result = outcome_in(lease ? &*lease : nullptr);
    if (const auto why = allocate(request, image, lease ? &*lease : nullptr, result)) {
      if (live.slot) end_slot(live, "");
      return refuse(why->code, why->message);
    }
  }
  // First of all the program: what is made here afterwards is made while it runs.
  Result<void> started{};
  if (lease) {
    started = run.start_in(std::move(*lease));
    lock.lock();
    slots_->started(*live.slot, now());
    lock.unlock();
  }
  if (log_ == nullptr) result = outcome_in(lease ? &run.lease() : nullptr);
  if (lease) {
    result.timing.start =
        run.lease().level == pool::Level::kHot ? outcome::Start::kHot : outcome::Start::kWarm;
  } else {
    const auto done = start_cold(live, image);
    if (!done) return refuse(Reason::kIsolationUnavailable, done.error().message);
    started = *done;
    if (!started && !hello_) result.teardown = outcome::TeardownVerdict::kDestroyed;  // no box was made
  }
  if (log_ == nullptr) result.weakenings = weakenings_of(request, lease ? &run.lease() : nullptr);
  Outcome outcome = follow(live, std::move(started), std::move(result));
  lock.lock();
  chunks_.push_back(std::move(chunk));
  if (live.slot) past_[outcome.volume.id] = run.take_lease();
  return outcome;
}

Result<sys::Fd> Engine::open_product(const Run& live, const std::string& path) {
  if (live.slot && live.run.lease().sandbox == Sandbox::kShared)
    return fail(ErrorCode::kUnavailable, "a sandbox that runs share keeps no products");
  return live.warden.open_file(live.box, path, Deadline::in(kAnswerTime));
}

// From the start of a run to its outcome.
Outcome Engine::follow(Run& live, Result<void> started, Outcome result) {
  const Request& request = live.request;
  LiveRun& run = live.run;
  const auto finish = [&](const outcome::Observed& observed) {
    end_slot(live, result.run_id);
    if (result.program_sha256.empty()) result.program_sha256 = crypto::sha256_hex(request.program);
    take_ending(run, observed, result);
    run.tell_calls(result);
    result.usage = observed.usage;
    result.usage.occupied_ms = ms_between(live.asked_at, now());
    result.report = outcome::make_report(result);
    if (live.slot || run.started()) record_executed(result);
    if (!live.slot) record_torn_down(result);
    return std::move(result);
  };
  if (!live.slot) {
    const std::lock_guard lock(*mutex_);
    look_after_slots();
  }
  if (!started) {
    // A warden that is gone shows nothing; otherwise no box was asked for.
    const bool shown = started.error().code != ErrorCode::kUnavailable;
    if (!live.slot)
      result.teardown = shown ? outcome::TeardownVerdict::kDestroyed : outcome::TeardownVerdict::kQuarantined;
    return finish(lost(request, frame::EndCause::kSetupFailed, started.error().message));
  }
  // Here, since the box is being made, or runs, meanwhile.
  result.program_sha256 = crypto::sha256_hex(request.program);
  if (auto watched = run.watch(result.run_id); !watched) {
    run.drain();
    take_output(run, result);
    if (!live.slot) {
      result.teardown = outcome::TeardownVerdict::kQuarantined;
      record_cold(live, result, {watched.error().message, true, now(), std::nullopt});
    }
    return finish(lost(request, frame::EndCause::kLost, watched.error().message));
  }

  const frame::BoxEnded& ended = run.ended();
  outcome::Observed observed = outcome::observed_from(ended);
  observed.failure = frame::get_text(ended.text);
  if (ended.cause == frame::EndCause::kSetupFailed)
    observed.failure = "the box could not be made: " + observed.failure;
  observed.effective = effective_limits(request.limits);
  observed.output_bytes = run.capture().largest();
  take_output(run, result);
  observed.exception = run.report().exception();
  take_result(run, result);

  const Instant ended_at = now();
  collect(
      request, run, live.products, [&](const std::string& path) { return open_product(live, path); }, result,
      observed);
  const Instant collected_at = now();
  if (!live.slot) {
    std::optional<frame::BoxGone> gone;
    if (const auto said = live.warden.destroy_box(live.box, Deadline::in(kAnswerTime))) gone = *said;
    result.teardown = gone && gone->destroyed != 0 ? outcome::TeardownVerdict::kDestroyed
                                                   : outcome::TeardownVerdict::kQuarantined;
    if (run.started()) result.timing.start = outcome::Start::kCold;
    const bool whole = ended.cause != frame::EndCause::kSetupFailed;
    record_cold(live, result, {observed.failure, whole, ended_at, gone});
    if (slots_) result.timing.cold_reason = live.cold_reason;
  }
  result.timing.checkout_ms = ms_between(live.asked_at, run.started() ? run.started_at() : ended_at);
  result.timing.execution_ms = ended.wall_us / 1000;
  result.timing.artifact_ms = ms_between(ended_at, collected_at);
  result.timing.teardown_ms = live.slot ? 0 : ms_between(collected_at, now());
  return finish(observed);
}

Outcome refused_outcome(const Request& request, const Rungs& rungs, Reason reason,
                        const std::string& message) {
  Outcome result = new_outcome(request, choose_rung(request, rungs));
  result.program_sha256 = crypto::sha256_hex(request.program);
  result.teardown = outcome::TeardownVerdict::kDestroyed;  // no box was made
  result.ending = outcome::refusal(reason, message);
  result.report = outcome::make_report(result);
  return result;
}

}  // namespace casemate::engine
