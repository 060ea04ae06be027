// Theory of operation: see run.cc.
#include "engine/live_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/limits.h"
#include "engine/box_command.h"
#include "outcome/runtime_end.h"
#include "sys/sealed.h"

namespace casemate::engine {
namespace {

using outcome::Stream;

// How long a program counts as a short one: some times what print(1) takes. A system call of a guest with a
// kernel of its own takes fifty times as long.
constexpr microseconds kShort{1000};
constexpr microseconds kShortOwnKernel{4000};
// After the wall limit the warden has to kill and reap; past this it is taken for lost.
constexpr milliseconds kWardenGrace{30'000};

// How much of each stream is kept. A test build can have this wall off: everything.
Bytes capture_cap(const Request& request) {
  const bool off = (request.walls_off & frame::wall_bit(frame::Wall::kOutputLimit)) != 0;
  return off ? gib(1) : request.limits.output;
}

// Input for the program's stdin: nothing, or an unchangeable file in memory.
Result<sys::Fd> make_stdin(const std::string& bytes) {
  return bytes.empty() ? sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY) : sys::sealed_bytes("stdin", bytes);
}

}  // namespace

LiveRun::LiveRun(const Request& request, box::WardenLine& warden, std::uint64_t box, Products& products,
                 const Hooks& hooks, Others others, std::span<char> chunk)
    : request_(request),
      warden_(warden),
      box_(box),
      hooks_(hooks),
      others_(std::move(others)),
      feed_(request, request.limits.memory),
      sinks_(request.grants, run_id_),
      capture_({capture_cap(request),
                [&products](Stream stream, std::string_view bytes) { products.spool(stream, bytes); }}),
      chunk_(chunk) {}

Result<void> LiveRun::start(const Paths& paths, const Runtime& runtime) {
  const sys::Fd root_dir = TRY(sys::open_at(AT_FDCWD, runtime.box_root, O_PATH | O_DIRECTORY));
  const sys::Fd guest_dir = TRY(sys::open_at(AT_FDCWD, paths.guest_tree, O_PATH | O_DIRECTORY));
  const sys::Fd input = TRY(make_stdin(request_.stdin_bytes));
  RuntimeFiles files = runtime.files;
  const sys::Fd disk = TRY(own_disk(runtime.rung, files));
  sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  sys::Pair control = TRY(sys::make_stream_pair());
  for (const sys::Fd* fd : {&out.first, &err.first, &control.first}) TRY(sys::set_nonblocking(*fd));

  box::BoxSpec spec;
  spec.rung = runtime.rung;
  be_on(runtime.rung);
  const RungBox box{runtime.rung, request_.limits, Bytes{request_.stdin_bytes.size()}};
  spec.limits = box_limits(box);
  spec.arguments = box_command(box, python_command(runtime.rung));
  spec.environment = box_environment(request_.limits);
  spec.walls_off = request_.walls_off;
  spec.fail_stage = request_.fail_stage;
  TRY(warden_.make_box(box_, spec,
                       {root_dir.get(), guest_dir.get(), input.get(), out.second.get(), err.second.get(),
                        control.second.get(), files}));
  stdout_ = std::move(out.first);
  stderr_ = std::move(err.first);
  control_ = std::move(control.first);
  started_at_ = now();
  return {};
}

void LiveRun::be_on(frame::Rung rung) {
  rung_ = rung;
  short_ = rung == frame::Rung::kJail ? kShort : kShortOwnKernel;
  report_ = outcome::GuestReport(/*own_kernel=*/rung != frame::Rung::kJail);
  if (rung == frame::Rung::kMicrovm) feed_.say_artifacts();
}

Result<void> LiveRun::start_in(Lease lease) {
  in_slot_ = true;
  lease_ = std::move(lease);
  stdout_ = std::move(lease_.out);
  stderr_ = std::move(lease_.err);
  control_ = std::move(lease_.control);
  started_.emplace();
  started_->walls_on = lease_.walls_on;
  started_at_ = now();
  beside_ = lease_.processor == ::sched_getcpu();
  be_on(lease_.rung);
  const milliseconds wall = request_.limits.wall;
  itimerspec until{};
  until.it_value.tv_sec = static_cast<time_t>(wall.count() / 1000);
  until.it_value.tv_nsec = static_cast<long>(wall.count() % 1000) * 1'000'000;
  if (::timerfd_settime(lease_.wall_timer.get(), 0, &until, nullptr) < 0)
    return fail_errno("set the wall clock of the slot");
  return write_control();
}

Lease LiveRun::take_lease() {
  lease_.out = std::move(stdout_);
  lease_.err = std::move(stderr_);
  lease_.control = std::move(control_);
  return std::move(lease_);
}

// Not before the run has turned out not to be short: the warden would be woken on the processor that the
// program is about to use, and before it.
Result<void> LiveRun::tell_warden() {
  told_ = true;
  return warden_.start_box(box_, request_.limits.wall, request_.limits.cpu_time,
                           std::chrono::duration_cast<microseconds>(now() - started_at_));
}

Result<void> LiveRun::ask_end(frame::EndCause cause) {
  if (asked_end_) return {};
  asked_end_ = true;
  return warden_.end_box(box_, cause);
}

Result<void> LiveRun::on_warden() {
  do {
    take(TRY(warden_.next()));
  } while (warden_.has_events());
  return {};
}

void LiveRun::take(box::WardenEvent event) {
  const auto* started = std::get_if<frame::BoxStarted>(&event);
  const auto* ended = std::get_if<frame::BoxEnded>(&event);
  if (started != nullptr && started->header.box == box_) {
    started_ = *started;
    started_at_ = now();
  } else if (ended != nullptr && ended->header.box == box_) {
    if (answered_) return;  // the answer is given
    ended_ = *ended;
    // It knows of no start that it was not told of.
    if (in_slot_ && !told_) ended_->wall_us = run_us();
  } else if (const auto* frozen = std::get_if<frame::BoxFrozen>(&event);
             frozen != nullptr && frozen->header.box == box_) {
    frozen_ = frozen_ && frozen->frozen != 0;
  } else {
    others_.on_event(std::move(event));
  }
}

std::uint64_t LiveRun::run_us() const {
  const Instant at = now();
  const auto running = std::chrono::duration_cast<microseconds>(at - started_at_) - waited(at);
  return static_cast<std::uint64_t>(running.count());
}

// The program says that it is done, as its last word: the answer need not wait until the kernel has taken
// its memory apart. One that lies about that is ended with what it goes on doing. Its products are another
// matter: they are read when nobody is left who could change them.
void LiveRun::finish_if_done() {
  if (!in_slot_ || done_seen_ || !report_.done()) return;
  done_seen_ = true;
  frame::BoxEnded ended;
  lease_.usage.read(ended);
  // A memory that ran out has ended the box by itself, which the warden will say.
  if (!report_.artifacts().empty() || !request_.artifacts.empty() || ended.oom_kills > 0) {
    feeding_ = false;
    (void)::shutdown(control_.get(), SHUT_WR);  // what the runner waits for: it exits
    return;
  }
  ended.header.box = box_;
  ended.cause = frame::EndCause::kProgram;
  ended.has_status = 1;
  ended.exit_code = static_cast<std::uint32_t>(report_.done()->exit_code);
  ended.wall_us = run_us();
  ended_ = ended;
  answered_ = true;
}

void LiveRun::read_stream(Stream stream, sys::Fd& pipe, bool to_the_end) {
  do {
    const auto got = sys::read_some(pipe, chunk_);
    if (!got) {
      if (got.error().errno_value != EAGAIN) pipe.reset();
      return;
    }
    if (*got == 0) return pipe.reset();
    const std::string_view bytes(chunk_.data(), *got);
    if (!lets(policy::PseudoSink::kStdout, bytes.size())) continue;
    capture_.feed(stream, bytes);
    if (hooks_.on_output) hooks_.on_output(stream, bytes);
  } while (to_the_end && !capture_.over_end());
}

void LiveRun::read_control(bool to_the_end) {
  do {
    const auto got = sys::read_some(control_, chunk_);
    if (!got) {
      if (got.error().errno_value != EAGAIN) control_.reset();
      return;
    }
    if (*got == 0) return control_.reset();
    if (!read_frames({chunk_.data(), *got})) {
      // A runner that breaks the protocol is not listened to any more; the run itself goes on.
      deaf_ = true;
      return control_.reset();
    }
  } while (to_the_end);
}

bool LiveRun::read_frames(std::string_view bytes) {
  if (!frames_.feed(bytes)) return false;
  frame::Frame frame;
  for (;;) {
    const auto whole = frames_.next(frame);
    if (!whole) return false;
    if (!*whole) return true;
    if (bridge::CallReader::is_call(frame)) {
      if (!take_call(frame)) return false;
      continue;
    }
    const auto order = report_.add(frame);
    if (!order) return false;
    if (*order) capture_.hint((*order)->stream, (*order)->total);
  }
}

// A guest may call as soon as it runs, and not before it has all of its program.
Result<void> LiveRun::take_call(const frame::Frame& frame) {
  if (ended_) return {};  // nobody is left who could be answered
  if (report_.done()) return fail(ErrorCode::kInvalid, "the guest called when it was done");
  if (!calls_)
    calls_.emplace(
        TRY(bridge::Bridge::make(request_.grants, run_id_, request_.labels, request_.call_limits)));
  return calls_->take(frame);
}

void LiveRun::tell_calls(outcome::Outcome& result) {
  if (request_.grants) result.policy_digest = "sha256:" + request_.grants->policy_sha256;
  if (calls_) {
    result.calls = calls_->told();
    result.calls_left_out = calls_->left_out();
    // A name that no capability has is the program's own text.
    for (outcome::Call& call : result.calls)
      if (call.verdict.empty() && !lets(policy::PseudoSink::kStdout, call.capability.size()))
        call.capability = "(withheld)";
  }
  if (const microseconds all = waited(now()); all.count() > 0) {
    const auto ms = std::chrono::duration_cast<milliseconds>(all).count();
    result.waited = outcome::Waited{static_cast<std::uint64_t>(ms), frozen_};
  }
  for (const auto& [label, source] : labels().all()) result.labels.push_back(label);
  result.withheld = sinks_.withheld();
}

Result<void> LiveRun::write_control() {
  std::string_view bytes = TRY(feed_.pending());
  const bool feeds = !bytes.empty();
  if (!feeds && calls_) bytes = calls_->pending();
  if (bytes.empty()) {
    feeding_ = false;
    return {};
  }
  const ssize_t put = ::send(control_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put >= 0 && feeds) {
    feed_.sent(static_cast<std::size_t>(put));
  } else if (put >= 0) {
    calls_->sent(static_cast<std::size_t>(put));
  } else if (errno != EAGAIN && errno != EINTR) {
    feeding_ = false;  // the box is gone or does not listen: its end tells
  }
  return {};
}

// A short program on another processor is through before this process would be asleep and awake again, so for
// the first moments it stays awake; one on this processor has to be let run.
int LiveRun::wait_for(std::span<pollfd> items, Deadline deadline) const {
  if (!in_slot_ || told_) return ::poll(items.data(), items.size(), deadline.poll_timeout_ms(now()));
  const Instant until = started_at_ + short_;
  if (beside_) return ::poll(items.data(), items.size(), Deadline::at(until).poll_timeout_ms(now()));
  int ready = 0;
  while (ready == 0 && now() < until) ready = ::poll(items.data(), items.size(), 0);
  return ready;
}

Result<void> LiveRun::watch(const std::string& run) {
  run_id_ = run;
  while (!ended_) {
    // Before it is decided what to wait for: the output of a run that is not short is read as it comes.
    if (in_slot_ && !told_ && now() - started_at_ >= short_) TRY(tell_warden());
    if (calls_) TRY(mind_asks());
    if (calls_ && control_ && !calls_->pending().empty()) feeding_ = true;
    std::array<pollfd, 7> items{};
    items[0] = {warden_.readable().get(), POLLIN, 0};
    // What a short program prints is read when it is done: to be woken for it would be to interrupt it.
    const bool prints = !(in_slot_ && beside_ && !told_);
    items[1] = {prints && stdout_ ? stdout_.get() : -1, POLLIN, 0};
    items[2] = {prints && stderr_ ? stderr_.get() : -1, POLLIN, 0};
    items[3] = {control_ ? control_.get() : -1, static_cast<short>(feeding_ ? POLLIN | POLLOUT : POLLIN), 0};
    items[4] = {hooks_.cancel != nullptr && !asked_end_ ? hooks_.cancel->get() : -1, POLLIN, 0};
    items[5] = {others_.guests(), POLLIN, 0};
    items[6] = {calls_ ? calls_->finished().get() : -1, POLLIN, 0};
    if (warden_.has_events()) {
      TRY(on_warden());
      continue;
    }
    const Deadline lost = Deadline::at(started_at_ + waited(now()) + request_.limits.wall + kWardenGrace);
    const int ready = wait_for(items, Deadline::at(look_again(lost.instant())));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready == 0 && lost.passed(now()) && request_.walls_off == 0) {
      return fail(ErrorCode::kUnavailable, "the warden does not end the box");
    }
    if (ready <= 0) continue;
    if (items[1].revents != 0) read_stream(Stream::kStdout, stdout_, false);
    if (items[2].revents != 0) read_stream(Stream::kStderr, stderr_, false);
    if ((items[3].revents & ~POLLOUT) != 0) read_control(false);
    if (items[6].revents != 0) calls_->collect();
    // An answer goes out at once, not after it was asked whether it could.
    const bool answers = calls_ && !calls_->pending().empty();
    if (control_ && (answers || ((items[3].revents & POLLOUT) != 0 && feeding_))) TRY(write_control());
    finish_if_done();
    if (items[0].revents != 0) TRY(on_warden());
    if (items[4].revents != 0) TRY(ask_end(frame::EndCause::kCancelled));
    if (items[5].revents != 0) others_.read_guests();
    if (capture_.over_end()) TRY(ask_end(frame::EndCause::kOutput));
  }
  if (calls_) calls_->stop();
  if (still_since_) TRY(go_on(now()));
  drain();  // nobody is left who could write: what is in the pipes now is all that there will be
  if (rung_ == frame::Rung::kJail) return {};
  if (answered_)  // the program's own word came before its end
    ended_->pids_peak = 0;
  else
    ended_ = outcome::end_of_guest(*ended_, {report_.end(), in_slot_ || report_.begun(), deaf_},
                                   request_.limits.pids);
  return {};
}

void LiveRun::drain() {
  if (stdout_) read_stream(Stream::kStdout, stdout_, true);
  if (stderr_) read_stream(Stream::kStderr, stderr_, true);
  if (control_) read_control(true);
}

}  // namespace casemate::engine
