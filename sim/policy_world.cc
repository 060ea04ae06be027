#include "policy_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "json/writer.h"
#include "policy/test_support.h"

namespace casemate::sim {
namespace {

using policy::Decision;

constexpr std::size_t kSendsMax = 6;
constexpr std::size_t kRecipientsMax = 3;
constexpr int kCentsMax = 100;
constexpr std::size_t kPendingMax = 8;

constexpr const char* kFile = R"toml(
[permissions]
deny  = ["hr.drop"]
allow = ["web.get", "hr.read", "mail.send", "log.add"]
[effects]
"mail.send" = ["message", "spend"]
[labels.sources]
"web.*" = ["untrusted"]
"hr.*"  = ["private"]
[labels.sinks]
"mail.send" = "external"
stdout      = "seen"
[[flow]]
when    = "untrusted in run and private in run and sink == external"
verdict = "deny"
reason  = "private data may leave under the direction of a stranger"
[[flow]]
when    = "untrusted in run and sink == external"
verdict = "ask"
reason  = "the program has read untrusted content"
[[flow]]
when    = "private in run and sink == seen"
verdict = "deny"
reason  = "private"
[[budgets.calls]]
of     = "mail.send"
max    = 6
beyond = "deny"
[[budgets.distinct]]
of       = "mail.send"
argument = "to"
max      = 3
beyond   = "ask"
[[budgets.sum]]
of       = "mail.send"
argument = "cost"
max      = "1.00 EUR"
beyond   = "deny"
)toml";

// What the world knows of its sources, without the file.
const std::map<std::string, std::string>& labels_of_sources() {
  static const std::map<std::string, std::string> kLabels = {{"web.get", "untrusted"},
                                                             {"hr.read", "private"}};
  return kLabels;
}

std::string amount(int cents) {
  const std::string rest = std::to_string(cents % 100);
  return std::to_string(cents / 100) + "." + (rest.size() == 1 ? "0" : "") + rest;
}

}  // namespace

PolicyWorld::PolicyWorld(Random& random) : random_(random), policy_(policy::policy_of(kFile)) {
  policy::Labels seed;
  for (const char* label : {"untrusted", "private"}) {
    if (!random_.one_in(6)) continue;
    seed.add(label, "the harness");
    knows_.insert(label);
  }
  run_ = policy::start(policy_, seed);
}

void PolicyWorld::step() {
  const std::size_t index = pending_.empty() ? 0 : random_.below(pending_.size());
  if (pending_.empty() || (pending_.size() < kPendingMax && random_.one_in(2))) {
    begin_call();
  } else if (random_.one_in(8)) {
    check_sink();
  } else if (pending_[index].state == State::kAsked) {
    answer_ask(index);
  } else {
    end_call(index);
  }
}

Decision PolicyWorld::expected(const Pending& call) const {
  if (call.capability == "hr.drop") return Decision::kDeny;
  if (call.capability != "mail.send") return Decision::kAllow;
  const bool untrusted = knows_.count("untrusted") != 0;
  std::set<std::string> recipients = recipients_;
  recipients.insert(call.to);
  if (untrusted && knows_.count("private") != 0) return Decision::kDeny;
  if (sends_ >= kSendsMax || cents_ + call.cents > kCentsMax) return Decision::kDeny;
  const bool new_one = recipients.size() > recipients_.size();
  return untrusted || (new_one && recipients.size() > kRecipientsMax) ? Decision::kAsk : Decision::kAllow;
}

Decision PolicyWorld::judge_and_charge(const Pending& call, bool approved) {
  json::Writer writer;
  writer.begin_object()
      .field("to", call.to)
      .field("cost", amount(call.cents))
      .field("currency", "EUR")
      .end_object();
  const auto arguments = json::read(std::move(writer).take());
  const policy::Capability capability = policy::named(call.capability);
  const policy::Verdict verdict = judge(policy_, capability, {*arguments}, run_);
  EXPECT_EQ(verdict.decision, expected(call)) << call.capability << " " << verdict.grounds[0].rule;
  if (call.capability == "mail.send" && verdict.grounds[0].kind == policy::Ground::Kind::kFlow) ++held_back_;
  const bool admitted =
      verdict.decision == Decision::kAllow || (approved && verdict.decision == Decision::kAsk);
  if (admitted) {
    charge(policy_, capability, {*arguments}, run_);
    note_admitted(call);
  }
  return verdict.decision;
}

void PolicyWorld::note_admitted(const Pending& call) {
  ++admitted_;
  if (call.capability != "mail.send") return;
  ++sends_;
  cents_ += call.cents;
  recipients_.insert(call.to);
}

void PolicyWorld::begin_call() {
  Pending call;
  const char* names[] = {"web.get", "hr.read", "mail.send", "mail.send", "mail.send", "log.add", "hr.drop"};
  // Most runs stay clean for a while, so that there is something to lose.
  call.capability = random_.one_in(3) ? names[random_.below(7)] : names[2 + random_.below(4)];
  call.to = std::string(1, static_cast<char>('a' + random_.below(5)));
  call.cents = static_cast<int>(random_.below(40));
  const Decision decision = judge_and_charge(call, /*approved=*/false);
  if (decision == Decision::kDeny) {
    ++denied_;
    return;
  }
  call.state = decision == Decision::kAsk ? State::kAsked : State::kInFlight;
  if (call.state == State::kAsked) ++asked_;
  pending_.push_back(std::move(call));
}

// A person says no, or yes to arguments that they may have edited: those are judged again, with what the run
// has been exposed to meanwhile.
void PolicyWorld::answer_ask(std::size_t index) {
  Pending call = pending_[index];
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  if (random_.one_in(3)) return;
  if (random_.one_in(3)) call.cents = static_cast<int>(random_.below(80));
  if (judge_and_charge(call, /*approved=*/true) == Decision::kDeny) {
    ++denied_;
    return;
  }
  call.state = State::kInFlight;
  pending_.push_back(std::move(call));
}

// A result or an error reaches the guest, or the connection is lost and nothing does.
void PolicyWorld::end_call(std::size_t index) {
  const Pending call = pending_[index];
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  if (random_.one_in(5)) return;
  deliver(policy_, policy::named(call.capability), run_);
  const auto label = labels_of_sources().find(call.capability);
  if (label != labels_of_sources().end()) knows_.insert(label->second);
  for (const std::string& known : knows_) EXPECT_TRUE(run_.labels.has(known)) << known;
  EXPECT_EQ(run_.labels.all().size(), knows_.size());
}

void PolicyWorld::check_sink() {
  const bool seen = knows_.count("private") != 0;
  EXPECT_EQ(judge_sink(policy_, policy::PseudoSink::kStdout, run_).decision,
            seen ? Decision::kDeny : Decision::kAllow);
  EXPECT_EQ(judge_sink(policy_, policy::PseudoSink::kResult, run_).decision, Decision::kAllow);
}

}  // namespace casemate::sim
