// The bridge of one run: what its guest calls is judged, recorded, made and answered here.
//
// A call goes one way. The engine's thread reads it, checks its arguments and judges it; then, on a thread of
// its own or at once (Connector::immediate), the verdict is recorded, the connector is called with the proof
// of that, and the result is recorded; the engine's thread joins the labels of the result to the run's and
// only then queues the answer. So verdicts and joins are one order, that of the engine's thread, and the
// guest has no byte of a result whose labels the next verdict does not know.
//
// A call that policy asks about is recorded as asked, waits on the desk (approve/desk.h) without a thread,
// and goes on when it is settled: the answer is recorded, which makes the proof. Without a desk nobody is
// there, and it is denied at once.
//
// Whose call it is follows from the connection that it comes on; nothing that the guest says names a run.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "approve/desk.h"
#include "audit/log.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "bridge/call_reader.h"
#include "bridge/reply.h"
#include "bridge/toolbox.h"
#include "bridge/workers.h"
#include "frame/frame.h"
#include "outcome/outcome.h"
#include "policy/judge.h"
#include "sys/fd.h"

namespace casemate::bridge {

struct CallLimits {
  std::uint64_t calls = 100'000;  // of one run
  std::size_t parallel = 64;      // at work at once; more of them wait
  std::size_t waiting = 1024;     // more than these are refused
  Bytes arguments = mib(1);       // of one call
  Bytes result = mib(16);         // of one call
  Bytes unread = mib(64);         // answers that the guest has not read; then no more calls are begun
};

// What all runs that are granted the same have in common. Immutable but for the log and the threads, which
// are thread-safe, and somebody else's: the threads have to end before the log does.
struct Grants {
  explicit Grants(policy::Policy by) : policy(std::move(by)) {}
  Toolbox tools;
  policy::Policy policy;
  std::string policy_sha256;
  policy::Labels brings;  // all that results of the tools may have
  audit::Log* log = nullptr;
  Workers* workers = nullptr;
  approve::Desk* desk = nullptr;   // nullptr: nobody is there to be asked. It outlives the threads
  milliseconds ask_time{600'000};  // how long a question waits
};

struct Job;  // perform.h

// One thread, the engine's.
class Bridge {
 public:
  // `grants`: nothing is granted without. `seed`: the labels that the program begins with. Errors: system.
  static Result<Bridge> make(std::shared_ptr<const Grants> grants, std::string run,
                             const policy::Labels& seed, const CallLimits& limits);
  Bridge(Bridge&&) noexcept;
  Bridge& operator=(Bridge&&) = delete;
  ~Bridge();

  // Takes a frame that CallReader::is_call(). Errors: invalid: the guest is not to be listened to any more.
  Result<void> take(const frame::Frame& frame);
  // Readable when collect() has something to do.
  const sys::Fd& finished() const;
  // Queues the answers of calls that are through, and begins those that wait.
  void collect();
  // What is to be sent to the guest; sent() takes it away.
  std::string_view pending() const { return std::string_view(outbox_).substr(sent_); }
  void sent(std::size_t bytes);
  // No guest any more: nothing is begun. What is under way ends and is recorded, and nobody is told.
  // Questions are over, and recorded as that.
  void stop();

  // Calls that wait for a person.
  std::size_t asks() const { return asking_.size(); }
  // They are all that the guest can wait for: nothing is at work or on its way, and no question has come for
  // a moment, in which its other threads would have put theirs.
  bool still(Instant at) const;
  // When still() may turn true by itself.
  Instant still_from() const { return last_ask_ + kGatherTime; }
  // When those that wait are denied, by expire(): nothing when none does.
  std::optional<Deadline> ask_until() const { return ask_until_; }
  void expire(Instant at);

  // As the outcome tells them: the first outcome::kCallsShownMax, and how many more there were.
  const std::vector<outcome::Call>& told() const { return told_; }
  std::uint64_t left_out() const { return calls_ - told_.size(); }
  const policy::Labels& labels() const { return state_.labels; }

 private:
  static constexpr milliseconds kGatherTime{50};
  struct Shared;  // shared.h
  struct Done;
  struct Settled;
  Bridge(std::shared_ptr<const Grants> grants, std::string run, policy::RunState state,
         const CallLimits& limits, std::shared_ptr<Shared> shared);

  void call(WantedCall wanted);
  void begin(WantedCall wanted, const Granted& granted, const json::Value& arguments);
  void start(std::shared_ptr<Job> job);
  void finish(Done done);
  void wait_for_person(const std::shared_ptr<Job>& job);
  void settled(const Settled& settled);
  void approved(Job& job, const approve::Answer& answer, outcome::AskedCall& told);
  void begin_waiting();
  void answer(std::uint64_t number, const Reply& reply);
  std::string id() const;
  outcome::Call* tell(std::string_view capability);
  bool room() const;

  std::shared_ptr<const Grants> grants_;
  std::string run_;
  policy::RunState state_;
  CallLimits limits_;
  std::shared_ptr<Shared> shared_;
  CallReader reader_;
  std::deque<WantedCall> waiting_;
  std::map<std::string, std::shared_ptr<Job>> asking_;  // by the call's id
  std::optional<Deadline> ask_until_;
  Instant last_ask_{};
  std::size_t at_work_ = 0;
  std::uint64_t calls_ = 0;
  std::string outbox_;
  std::size_t sent_ = 0;
  std::vector<outcome::Call> told_;
  bool stopped_ = false;
};

}  // namespace casemate::bridge
