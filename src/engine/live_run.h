// One run from the moment that its box is asked for, or its slot is taken, until its end is known.
#pragma once

#include <poll.h>
#include <sys/timerfd.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "box/warden_line.h"
#include "bridge/bridge.h"
#include "engine/feed.h"
#include "engine/products.h"
#include "engine/request.h"
#include "engine/run.h"
#include "engine/sinks.h"
#include "engine/slots.h"
#include "frame/frame.h"
#include "outcome/capture.h"
#include "outcome/guest_report.h"

namespace casemate::engine {

class LiveRun {
 public:
  // Each read is into `chunk`, which has nothing in it between two calls.
  LiveRun(const Request& request, box::WardenLine& warden, std::uint64_t box, Products& products,
          const Hooks& hooks, Others others, std::span<char> chunk);

  // Asks for a box of its own.
  Result<void> start(const Paths& paths, const Runtime& runtime);
  // Takes a parked box: its timer is set, then the program is sent. The warden is told when the program
  // turns out not to be a short one.
  Result<void> start_in(Lease lease);
  // Until the box has ended; `run` is what its calls are recorded for. Errors: unavailable (the warden is
  // lost), system.
  Result<void> watch(const std::string& run);
  // Reads what is in the pipes now.
  void drain();

  const outcome::OutputCapture& capture() const { return capture_; }
  const outcome::GuestReport& report() const { return report_; }
  // How the box ended; of a slot that is done, what it has used until then.
  const frame::BoxEnded& ended() const { return *ended_; }
  const std::optional<frame::BoxStarted>& started() const { return started_; }
  // The slot that it runs in, without the ends that are in use.
  const Lease& lease() const { return lease_; }
  // Its program said that it was done, and nothing else was of its end.
  RunEnd end() const { return answered_ && !asked_end_ && !deaf_ ? RunEnd::kClean : RunEnd::kOther; }
  // Our ends of a slot that is over: to close them takes longer than all else that comes after a short run.
  Lease take_lease();
  Instant started_at() const { return started_at_; }
  // What it called, what it was exposed to, and what was withheld for it.
  void tell_calls(outcome::Outcome& result);
  // Whether policy lets so much of what the run came to leave.
  bool lets(policy::PseudoSink sink, std::uint64_t bytes) { return sinks_.lets(sink, labels(), bytes); }

 private:
  const policy::Labels& labels() const { return calls_ ? calls_->labels() : request_.labels; }
  void be_on(frame::Rung rung);
  Result<void> on_warden();
  void take(box::WardenEvent event);
  void finish_if_done();
  Result<void> tell_warden();
  std::uint64_t run_us() const;
  int wait_for(std::span<pollfd> items, Deadline deadline) const;
  void read_stream(outcome::Stream stream, sys::Fd& pipe, bool to_the_end);
  void read_control(bool to_the_end);
  bool read_frames(std::string_view bytes);
  Result<void> take_call(const frame::Frame& frame);
  Result<void> write_control();
  Result<void> ask_end(frame::EndCause cause);
  Result<void> mind_asks();
  Result<void> stand_still(Instant at);
  Result<void> go_on(Instant at);
  microseconds waited(Instant at) const;
  Instant look_again(Instant lost) const;

  const Request& request_;
  box::WardenLine& warden_;
  std::uint64_t box_;
  const Hooks& hooks_;
  Others others_;
  RunnerFeed feed_;
  std::string run_id_;
  std::optional<bridge::Bridge> calls_;  // from the first call on
  Sinks sinks_;
  outcome::OutputCapture capture_;
  outcome::GuestReport report_;
  frame::Reader frames_;
  sys::Fd stdout_, stderr_, control_;
  frame::Rung rung_ = frame::Rung::kJail;
  bool feeding_ = true;
  bool asked_end_ = false;
  bool in_slot_ = false, beside_ = false, told_ = false, done_seen_ = false;  // beside_: on our processor
  bool answered_ = false;  // by the program's own word, before its end
  bool deaf_ = false;      // to a guest that broke the protocol
  // It waits for a person since then; for so long before that; what was left of the slot's timer.
  std::optional<Instant> still_since_;
  microseconds waited_{};
  itimerspec timer_left_{};
  bool frozen_ = true;
  Lease lease_;
  microseconds short_{};
  Instant started_at_{};
  std::optional<frame::BoxStarted> started_;
  std::optional<frame::BoxEnded> ended_;
  std::span<char> chunk_;
};

}  // namespace casemate::engine
