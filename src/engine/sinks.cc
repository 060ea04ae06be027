#include "engine/sinks.h"

#include <utility>

#include "policy/judge.h"
#include "policy/rules.h"

namespace casemate::engine {
namespace {

constexpr milliseconds kRecordTime{10'000};

// It is withheld whether or not that can be written down: nothing takes effect that was not recorded.
void record(const bridge::Grants& grants, const std::string& run, const policy::Labels& labels,
            const outcome::Withheld& what) {
  audit::WithheldSink withheld;
  withheld.run = run;
  withheld.sink = what.sink;
  withheld.verdict = what.verdict;
  withheld.rule = what.rule;
  withheld.reason = what.reason;
  withheld.policy_sha256 = grants.policy_sha256;
  for (const auto& [label, source] : labels.all()) withheld.labels.push_back(label);
  (void)grants.log->append(withheld, audit::Durability::kDurable, Deadline::in(kRecordTime));
}

}  // namespace

Sinks::Sinks(std::shared_ptr<const bridge::Grants> grants, const std::string& run) : run_(run) {
  if (grants && !grants->policy.rules().flows.empty()) grants_ = std::move(grants);
}

bool Sinks::lets(policy::PseudoSink sink, const policy::Labels& labels, std::uint64_t bytes) {
  if (!grants_) return true;
  outcome::Withheld& closed = withheld_.at(static_cast<std::size_t>(sink));
  if (closed.sink.empty()) {
    policy::RunState state;
    state.labels = labels;
    const policy::Verdict verdict = policy::judge_sink(grants_->policy, sink, state);
    if (verdict.decision == policy::Decision::kAllow) return true;
    closed.sink = policy::word(sink);
    closed.verdict = policy::word(verdict.decision);
    closed.rule = verdict.grounds.front().rule;
    closed.reason = verdict.grounds.front().reason;
    record(*grants_, run_, labels, closed);
  }
  closed.bytes += bytes;
  return false;
}

std::vector<outcome::Withheld> Sinks::withheld() const {
  std::vector<outcome::Withheld> found;
  for (const outcome::Withheld& one : withheld_) {
    if (!one.sink.empty()) found.push_back(one);
  }
  return found;
}

}  // namespace casemate::engine
