#include "bridge/bridge.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "bridge/arguments.h"
#include "bridge/discovery.h"
#include "bridge/perform.h"
#include "bridge/shared.h"
#include "crypto/sha256.h"
#include "json/utf8.h"

namespace casemate::bridge {
namespace {

constexpr std::size_t kOutboxKept = std::size_t{1} << 20;

audit::Answer answer_of(policy::Decision decision) {
  switch (decision) {
    case policy::Decision::kAllow: return audit::Answer::kAllow;
    case policy::Decision::kAsk: return audit::Answer::kAsk;
    case policy::Decision::kDeny: break;
  }
  return audit::Answer::kDeny;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The run was over before the question was put: the log says what became of it.
void close_question(Job& job) {
  job.approval = audit::Approval{audit::Answer::kDeny, "nobody", "the run is over"};
  (void)perform(job);
}

}  // namespace

std::string destination_of(const Tool& tool, const json::Value& arguments) {
  const json::Value* where = tool.destination.empty() ? nullptr : arguments.find(tool.destination);
  if (where == nullptr || !where->as_string()) return {};
  return std::string(*where->as_string());
}

Result<Bridge> Bridge::make(std::shared_ptr<const Grants> grants, std::string run, const policy::Labels& seed,
                            const CallLimits& limits) {
  auto shared = std::make_shared<Shared>();
  shared->finished = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared->finished) return fail_errno("eventfd");
  policy::RunState state;
  if (grants)
    state = policy::start(grants->policy, seed);
  else
    state.labels = seed;
  return Bridge(std::move(grants), std::move(run), std::move(state), limits, std::move(shared));
}

Bridge::Bridge(std::shared_ptr<const Grants> grants, std::string run, policy::RunState state,
               const CallLimits& limits, std::shared_ptr<Shared> shared)
    : grants_(std::move(grants)),
      run_(std::move(run)),
      state_(std::move(state)),
      limits_(limits),
      shared_(std::move(shared)),
      reader_(limits.arguments) {}
Bridge::Bridge(Bridge&&) noexcept = default;
// A guest that was lost has not been stopped: its questions would wait for nobody.
Bridge::~Bridge() {
  if (shared_ && !stopped_) stop();
}

const sys::Fd& Bridge::finished() const { return shared_->finished; }

Result<void> Bridge::take(const frame::Frame& frame) {
  auto wanted = TRY(reader_.add(frame));
  if (!wanted || stopped_) return {};
  if (!room() && waiting_.size() >= limits_.waiting) {
    answer(wanted->number,
           reply_of(wanted->name, CallError{"exhausted", "too many calls at once: at most " +
                                                             std::to_string(limits_.waiting) + " may wait"}));
    return {};
  }
  if (room())
    call(std::move(*wanted));
  else
    waiting_.push_back(std::move(*wanted));
  return {};
}

// A guest that does not read its answers gets no more of them.
bool Bridge::room() const {
  return at_work_ < limits_.parallel && outbox_.size() - sent_ < limits_.unread.count;
}

std::string Bridge::id() const { return run_ + "-" + std::to_string(calls_); }

// Of the call that was counted last.
outcome::Call* Bridge::tell(std::string_view capability) {
  if (told_.size() == outcome::kCallsShownMax) return nullptr;
  told_.push_back({id(), json::one_line(capability, kCapabilityNameMax), {}, {}, {}, 0});
  return &told_.back();
}

void Bridge::call(WantedCall wanted) {
  if (is_discovery(wanted.name))
    return answer(wanted.number, discover(grants_ ? grants_->tools : Toolbox(), wanted));
  const auto refuse = [&](const char* code, std::string message) {
    if (outcome::Call* told = tell(wanted.name)) told->status = code;
    answer(wanted.number, reply_of(wanted.name, CallError{code, std::move(message)}));
  };
  ++calls_;
  if (calls_ > limits_.calls)
    return refuse("exhausted",
                  "the run has made the " + std::to_string(limits_.calls) + " calls that it may make");
  if (!grants_) return refuse("not_granted", "not granted: this run has no capabilities");
  const Granted* granted = grants_->tools.find(wanted.name);
  if (granted == nullptr) {
    const catalog::Catalog* catalog = grants_->tools.catalog();
    const std::vector<std::string> near =
        catalog != nullptr ? catalog->near(wanted.name) : std::vector<std::string>();
    return refuse("not_granted", near.empty() ? "not granted: casemate.tools.search() says what is"
                                              : "not granted; near it are " + list_of(near));
  }
  if (wanted.too_large)
    return refuse("invalid", "its arguments are longer than " + format_bytes(limits_.arguments));
  auto arguments = check_arguments(*granted, std::move(wanted.arguments), limits_.arguments);
  if (!arguments) return refuse("invalid", arguments.error().message);
  wanted.arguments = std::move(arguments->text);
  begin(std::move(wanted), *granted, arguments->value);
}

// Judging and charging are one step, on this thread.
void Bridge::begin(WantedCall wanted, const Granted& granted, const json::Value& arguments) {
  const policy::Call call{arguments, policy::Origin::kBox};
  const policy::Capability& capability = granted.tool.capability;
  const policy::Verdict verdict = policy::judge(grants_->policy, capability, call, state_);
  if (verdict.decision == policy::Decision::kAllow) policy::charge(grants_->policy, capability, call, state_);

  auto job = std::make_shared<Job>();
  job->grants = grants_;
  job->granted = &granted;
  job->number = wanted.number;
  job->result_max = limits_.result;
  job->begun = now();
  audit::Verdict& record = job->verdict;
  record.run = run_;
  record.call = id();
  record.capability = capability.name;
  record.answer = answer_of(verdict.decision);
  record.rule = verdict.grounds.front().rule;
  record.reason = verdict.grounds.front().reason;
  record.policy_sha256 = grants_->policy_sha256;
  record.arguments_sha256 = crypto::sha256_hex(wanted.arguments);
  record.destination = destination_of(granted.tool, arguments);
  const policy::Facts facts = policy::facts_of(grants_->policy, capability);
  for (const std::string& sink : policy::passage_of(grants_->policy, facts).sinks)
    record.destination_class += (record.destination_class.empty() ? "" : ",") + sink;
  for (const auto& [label, source] : state_.labels.all()) record.labels.push_back(label);
  for (const policy::Effect effect : policy::kEffects)
    if (facts.effects.has(effect)) record.effects.emplace_back(policy::word(effect));
  record.idempotency_key = record.call;
  job->arguments = std::move(wanted.arguments);
  if (outcome::Call* told = tell(capability.name)) {
    told->verdict = policy::word(verdict.decision);
    told->rule = record.rule;
    told->status = "under way";
    job->told = told_.size();
  }
  start(std::move(job));
}

void Bridge::start(std::shared_ptr<Job> job) {
  ++at_work_;
  const Tool& tool = job->granted->tool;
  if (!tool.durable && tool.connector->immediate()) {
    Performed performed = perform(*job);
    return finish({std::move(job), std::move(performed)});
  }
  grants_->workers->run([job = std::move(job), shared = shared_] {
    Done done{job, perform(*job)};
    const std::uint64_t one = 1;
    {
      std::unique_lock lock(shared->mutex);
      if (shared->over && done.performed.waits) {
        lock.unlock();
        return close_question(*job);
      }
      shared->done.push_back(std::move(done));
    }
    (void)!::write(shared->finished.get(), &one, sizeof(one));  // full: then it is readable already
  });
}

void Bridge::collect() {
  std::uint64_t count = 0;
  (void)!::read(shared_->finished.get(), &count, sizeof(count));
  std::vector<Done> done;
  std::vector<Settled> settled_now;
  {
    const std::lock_guard lock(shared_->mutex);
    done.swap(shared_->done);
    settled_now.swap(shared_->settled);
  }
  for (Done& one : done) finish(std::move(one));
  for (const Settled& one : settled_now) settled(one);
  begin_waiting();
}

void Bridge::begin_waiting() {
  while (!waiting_.empty() && room()) {
    WantedCall next = std::move(waiting_.front());
    waiting_.pop_front();
    call(std::move(next));
  }
}

// The labels first: the answer is on its way when they are the run's.
void Bridge::finish(Done done) {
  CHECK(at_work_ > 0);
  --at_work_;
  const Job& job = *done.job;
  if (done.performed.waits) return wait_for_person(done.job);
  if (done.performed.reached) policy::deliver(grants_->policy, job.granted->tool.capability, state_);
  if (job.told > 0) {
    outcome::Call& told = told_.at(job.told - 1);
    told.status = done.performed.status;
    const auto latency = std::chrono::duration_cast<milliseconds>(now() - job.begun);
    told.latency_ms = static_cast<std::uint64_t>(latency.count());
  }
  answer(job.number, done.performed.reply);
}

void Bridge::answer(std::uint64_t number, const Reply& reply) {
  if (!stopped_) append_reply(outbox_, number, reply);
}

void Bridge::sent(std::size_t bytes) {
  sent_ += bytes;
  CHECK(sent_ <= outbox_.size());
  if (sent_ < outbox_.size() && sent_ < kOutboxKept) return;
  outbox_.erase(0, sent_);
  sent_ = 0;
  begin_waiting();
}

void Bridge::stop() {
  stopped_ = true;
  waiting_.clear();
  outbox_.clear();
  sent_ = 0;
  if (!asking_.empty()) grants_->desk->close(run_);
  std::vector<Done> done;
  std::vector<Settled> over;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    done.swap(shared_->done);
    over.swap(shared_->settled);
  }
  for (const Settled& one : over) settled(one);
  for (Done& one : done) {
    if (one.performed.waits) grants_->workers->run([job = std::move(one.job)] { close_question(*job); });
  }
}

}  // namespace casemate::bridge
