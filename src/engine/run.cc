// Theory of operation: one run.
//
// The engine holds the read ends of the program's output pipes, one end of the runner's control
// socket and the socket of its private warden, and waits on all of them in one loop. Bytes from the
// box go into bounded captures; nothing that a box sends can grow the engine. The run is over when
// the warden says so, which it does when the box's pid namespace is gone: not when a pipe ends, which
// a child in the background could put off for ever. Then what is still in the pipes is read, the
// products are copied out of the dead box's layer, the box is destroyed, and the outcome is decided.
#include "engine/run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.h"
#include "crypto/random.h"
#include "crypto/sha256.h"
#include "engine/box_command.h"
#include "engine/feed.h"
#include "frame/frame.h"
#include "outcome/decide.h"
#include "outcome/guest_report.h"
#include "outcome/report.h"

namespace casemate::engine {
namespace {

using outcome::Outcome;
using outcome::Reason;
using outcome::Stream;

constexpr milliseconds kHelloTime{20'000};
constexpr milliseconds kAnswerTime{30'000};
constexpr std::size_t kReadChunk = 64 << 10;
// After the wall limit the warden has to kill and reap; past this it is taken for lost.
constexpr milliseconds kWardenGrace{30'000};

std::uint64_t ms_between(Instant from, Instant to) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(to - from).count());
}

// How much of each stream is kept. A test build can have this wall off: everything.
Bytes capture_cap(const Request& request) {
  const bool off = (request.walls_off & frame::wall_bit(frame::Wall::kOutputLimit)) != 0;
  return off ? gib(1) : request.limits.output;
}

// Input for the program's stdin: nothing, or an unchangeable file in memory.
Result<sys::Fd> make_stdin(const std::string& bytes) {
  if (bytes.empty()) return sys::open_at(AT_FDCWD, "/dev/null", O_RDONLY);
  sys::Fd memory(::memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return fail_errno("memfd_create");
  TRY(sys::write_all(memory, bytes, Deadline::in(kAnswerTime)));
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0) {
    return fail_errno("seal the input");
  }
  return sys::open_at(AT_FDCWD, "/proc/self/fd/" + std::to_string(memory.get()), O_RDONLY);
}

// One run from the moment that its box is asked for until its end is known.
class LiveRun {
 public:
  LiveRun(const Request& request, box::WardenClient& warden, std::uint64_t box, Products& products,
          const Hooks& hooks)
      : request_(request),
        warden_(warden),
        box_(box),
        hooks_(hooks),
        feed_(request, request.limits.memory),
        capture_({capture_cap(request),
                  [&products](Stream stream, std::string_view bytes) { products.spool(stream, bytes); }}) {}

  Result<void> start(const Paths& paths, const Image& image);
  // Until the box has ended. Errors: unavailable (the warden is lost), system.
  Result<void> watch();
  // Reads what is in the pipes now.
  void drain();

  const outcome::OutputCapture& capture() const { return capture_; }
  const outcome::GuestReport& report() const { return report_; }
  const frame::BoxEnded& ended() const { return *ended_; }
  const std::optional<frame::BoxStarted>& started() const { return started_; }
  Instant started_at() const { return started_at_; }

 private:
  Result<void> on_warden();
  void read_stream(Stream stream, sys::Fd& pipe, bool to_the_end);
  void read_control(bool to_the_end);
  Result<void> write_control();
  Result<void> ask_end(frame::EndCause cause);
  std::span<char> chunk() { return {chunk_.get(), kReadChunk}; }

  const Request& request_;
  box::WardenClient& warden_;
  std::uint64_t box_;
  const Hooks& hooks_;
  RunnerFeed feed_;
  outcome::OutputCapture capture_;
  outcome::GuestReport report_;
  frame::Reader frames_;
  sys::Fd stdout_, stderr_, control_;
  bool feeding_ = true;
  bool asked_end_ = false;
  Instant started_at_{};
  std::optional<frame::BoxStarted> started_;
  std::optional<frame::BoxEnded> ended_;
  // Not cleared: what is read into it is all that is looked at, and clearing touches every page.
  std::unique_ptr<char[]> chunk_ = std::make_unique_for_overwrite<char[]>(kReadChunk);
};

Result<void> LiveRun::start(const Paths& paths, const Image& image) {
  const sys::Fd image_dir = TRY(sys::open_at(AT_FDCWD, image.rootfs, O_PATH | O_DIRECTORY));
  const sys::Fd guest_dir = TRY(sys::open_at(AT_FDCWD, paths.guest_tree, O_PATH | O_DIRECTORY));
  const sys::Fd input = TRY(make_stdin(request_.stdin_bytes));
  sys::Pair out = TRY(sys::make_pipe());
  sys::Pair err = TRY(sys::make_pipe());
  sys::Pair control = TRY(sys::make_stream_pair());
  for (const sys::Fd* fd : {&out.first, &err.first, &control.first}) TRY(sys::set_nonblocking(*fd));

  box::BoxSpec spec;
  spec.limits = request_.limits;
  spec.arguments = python_command();
  spec.environment = box_environment(request_.limits);
  spec.walls_off = request_.walls_off;
  spec.fail_stage = request_.fail_stage;
  TRY(warden_.make_box(box_, spec,
                       {image_dir.get(), guest_dir.get(), input.get(), out.second.get(), err.second.get(),
                        control.second.get()}));
  stdout_ = std::move(out.first);
  stderr_ = std::move(err.first);
  control_ = std::move(control.first);
  started_at_ = now();
  return {};
}

Result<void> LiveRun::ask_end(frame::EndCause cause) {
  if (asked_end_) return {};
  asked_end_ = true;
  return warden_.end_box(box_, cause);
}

Result<void> LiveRun::on_warden() {
  const box::WardenEvent event = TRY(warden_.next());
  if (const auto* started = std::get_if<frame::BoxStarted>(&event)) {
    started_ = *started;
    started_at_ = now();
  }
  if (const auto* ended = std::get_if<frame::BoxEnded>(&event)) ended_ = *ended;
  return {};
}

void LiveRun::read_stream(Stream stream, sys::Fd& pipe, bool to_the_end) {
  do {
    const auto got = sys::read_some(pipe, chunk());
    if (!got) {
      if (got.error().errno_value != EAGAIN) pipe.reset();
      return;
    }
    if (*got == 0) return pipe.reset();
    const std::string_view bytes(chunk_.get(), *got);
    capture_.feed(stream, bytes);
    if (hooks_.on_output) hooks_.on_output(stream, bytes);
  } while (to_the_end && !capture_.over_end());
}

void LiveRun::read_control(bool to_the_end) {
  do {
    const auto got = sys::read_some(control_, chunk());
    if (!got) {
      if (got.error().errno_value != EAGAIN) control_.reset();
      return;
    }
    if (*got == 0) return control_.reset();
    // A runner that breaks the protocol is not listened to any more; the run itself goes on.
    if (!frames_.feed(std::string_view(chunk_.get(), *got))) return control_.reset();
    frame::Frame frame;
    for (;;) {
      const auto whole = frames_.next(frame);
      if (!whole) return control_.reset();
      if (!*whole) break;
      const auto order = report_.add(frame);
      if (!order) return control_.reset();
      if (*order) capture_.hint((*order)->stream, (*order)->total);
    }
  } while (to_the_end);
}

Result<void> LiveRun::write_control() {
  const std::string_view bytes = TRY(feed_.pending());
  if (bytes.empty()) {
    feeding_ = false;
    return {};
  }
  const ssize_t put = ::send(control_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put >= 0) {
    feed_.sent(static_cast<std::size_t>(put));
  } else if (errno != EAGAIN && errno != EINTR) {
    feeding_ = false;  // the box is gone or does not listen: its end tells
  }
  return {};
}

Result<void> LiveRun::watch() {
  while (!ended_) {
    std::array<pollfd, 5> items{};
    items[0] = {warden_.socket().get(), POLLIN, 0};
    items[1] = {stdout_ ? stdout_.get() : -1, POLLIN, 0};
    items[2] = {stderr_ ? stderr_.get() : -1, POLLIN, 0};
    items[3] = {control_ ? control_.get() : -1, static_cast<short>(feeding_ ? POLLIN | POLLOUT : POLLIN), 0};
    items[4] = {hooks_.cancel != nullptr && !asked_end_ ? hooks_.cancel->get() : -1, POLLIN, 0};
    const Deadline lost = Deadline::at(started_at_ + request_.limits.wall + kWardenGrace);
    const int ready = ::poll(items.data(), items.size(), lost.poll_timeout_ms(now()));
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (ready == 0 && lost.passed(now()) && request_.walls_off == 0) {
      return fail(ErrorCode::kUnavailable, "the warden does not end the box");
    }
    if (ready <= 0) continue;
    if (items[1].revents != 0) read_stream(Stream::kStdout, stdout_, false);
    if (items[2].revents != 0) read_stream(Stream::kStderr, stderr_, false);
    if ((items[3].revents & ~POLLOUT) != 0) read_control(false);
    if ((items[3].revents & POLLOUT) != 0 && control_ && feeding_) TRY(write_control());
    if (items[0].revents != 0) TRY(on_warden());
    if (items[4].revents != 0) TRY(ask_end(frame::EndCause::kCancelled));
    if (capture_.over_end()) TRY(ask_end(frame::EndCause::kOutput));
  }
  drain();  // nobody is left who could write: what is in the pipes now is all that there will be
  return {};
}

void LiveRun::drain() {
  if (stdout_) read_stream(Stream::kStdout, stdout_, true);
  if (stderr_) read_stream(Stream::kStderr, stderr_, true);
  if (control_) read_control(true);
}

Outcome new_outcome(const Request& request) {
  Outcome result;
  result.run_id = "run_" + crypto::random_hex(12);
  result.tenant = "local";
  result.isolation = "jail";
  result.below_floor = request.weakenings.below_floor && request.trust != Trust::kTrusted;
  result.requested = request.requested;
  result.effective = effective_limits(request.limits);
  return result;
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

// Our own failure, in words that cannot be taken for the program's.
outcome::Observed lost(const Request& request, frame::EndCause cause, std::string why) {
  outcome::Observed observed;
  observed.cause = cause;
  observed.failure = std::move(why);
  observed.effective = effective_limits(request.limits);
  return observed;
}

// What the program printed is never lost, whatever became of its box.
void take_output(const LiveRun& run, Outcome& result) {
  static_cast<outcome::StreamText&>(result.stdout_text) = run.capture().text(Stream::kStdout);
  static_cast<outcome::StreamText&>(result.stderr_text) = run.capture().text(Stream::kStderr);
  result.output = run.capture().combined();
}

// Copies what the program declared, what the request named and what the captures spooled.
void collect(const Request& request, const LiveRun& run, Products& products,
             const Products::OpenInLayer& open, Outcome& result, outcome::Observed& observed) {
  const auto keep = [&](Products::Stored stored) {
    if (stored.ours) ++observed.artifacts_not_stored;
    stored.artifact.volume_id = result.volume.id;
    result.artifacts.push_back(std::move(stored.artifact));
  };
  for (const outcome::GuestArtifact& wanted : manifest(run.report().artifacts(), request.artifacts))
    keep(products.store(wanted, open));
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    auto& text = stream == Stream::kStdout ? result.stdout_text : result.stderr_text;
    // Bytes that are not text are kept exactly beside the text that stands for them.
    if (text.lossy && !text.truncated) products.spool(stream, run.capture().exact(stream));
    auto stored = products.finish_stream(stream);
    if (!stored) continue;
    if (stored->artifact.state == outcome::ArtifactState::kStored) text.artifact = stored->artifact.id;
    keep(std::move(*stored));
  }
  result.artifacts_left_out = run.report().artifacts_left_out();
}

}  // namespace

Result<Engine> Engine::start(const Paths& paths, const box::Weakenings& weakenings) {
  box::WardenClient warden = TRY(box::WardenClient::start({paths.warden, weakenings}));
  return Engine(paths, std::move(warden));
}

Result<frame::Hello> Engine::host() {
  if (!hello_) hello_ = TRY(warden_.hello(Deadline::in(kHelloTime)));
  return *hello_;
}

Outcome Engine::run(const Request& request, const Image& image, Products& products, const Hooks& hooks) {
  const Instant asked_at = now();
  Outcome result = new_outcome(request);
  result.image_digest = image.digest;
  const auto finish = [&](const outcome::Observed& observed) {
    if (result.program_sha256.empty()) result.program_sha256 = crypto::sha256_hex(request.program);
    result.ending = outcome::decide(observed);
    result.usage = observed.usage;
    result.usage.occupied_ms = ms_between(asked_at, now());
    result.report = outcome::make_report(result);
    return std::move(result);
  };
  const std::uint64_t box = next_box_++;
  LiveRun run(request, warden_, box, products, hooks);
  const bool known = hello_.has_value();
  auto started = run.start(paths_, image);
  const auto hello = host();
  if (hello && !known && warden_.started_again()) started = run.start(paths_, image);
  if (!hello && hello.error().code != ErrorCode::kDenied) {
    result.teardown = outcome::TeardownVerdict::kDestroyed;  // no box was made
    return finish(lost(request, frame::EndCause::kSetupFailed, hello.error().message));
  }
  if (!hello) {
    Outcome refused = refused_outcome(request, Reason::kIsolationUnavailable, hello.error().message);
    refused.image_digest = image.digest;
    return refused;
  }
  result.weakenings = weakenings_in_effect(request.weakenings, *hello);
  result.sandbox_id = "box_" + crypto::random_hex(8);
  result.volume.id = "vol_" + crypto::random_hex(8);
  if (!started) {
    return finish(lost(request, frame::EndCause::kSetupFailed, started.error().message));
  }
  // Here, since the box is being made meanwhile.
  result.program_sha256 = crypto::sha256_hex(request.program);
  if (auto watched = run.watch(); !watched) {
    run.drain();
    take_output(run, result);
    return finish(lost(request, frame::EndCause::kLost, watched.error().message));
  }

  const frame::BoxEnded& ended = run.ended();
  outcome::Observed observed = outcome::observed_from(ended);
  if (ended.cause == frame::EndCause::kSetupFailed) {
    observed.failure = "the box could not be made: " + frame::get_text(ended.text);
  }
  observed.effective = effective_limits(request.limits);
  observed.output_bytes = run.capture().largest();
  observed.exception = run.report().exception();
  take_output(run, result);
  if (run.report().result()) result.result = run.report().result()->forms;

  const Instant ended_at = now();
  collect(
      request, run, products,
      [&](const std::string& path) { return warden_.open_file(box, path, Deadline::in(kAnswerTime)); },
      result, observed);
  const Instant collected_at = now();
  const auto gone = warden_.destroy_box(box, Deadline::in(kAnswerTime));
  result.teardown = gone && gone->destroyed != 0 ? outcome::TeardownVerdict::kDestroyed
                                                 : outcome::TeardownVerdict::kQuarantined;
  result.timing.checkout_ms = ms_between(asked_at, run.started() ? run.started_at() : ended_at);
  result.timing.execution_ms = ended.wall_us / 1000;
  result.timing.artifact_ms = ms_between(ended_at, collected_at);
  result.timing.teardown_ms = ms_between(collected_at, now());
  if (run.started()) result.timing.start = outcome::Start::kCold;
  return finish(observed);
}

Outcome refused_outcome(const Request& request, Reason reason, const std::string& message) {
  Outcome result = new_outcome(request);
  result.program_sha256 = crypto::sha256_hex(request.program);
  result.teardown = outcome::TeardownVerdict::kDestroyed;  // no box was made
  result.ending = outcome::refusal(reason, message);
  result.report = outcome::make_report(result);
  return result;
}

}  // namespace casemate::engine
