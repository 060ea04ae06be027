// The engine's end of the warden's protocol: starts a private warden and talks to it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "box/spec.h"
#include "box/usage.h"
#include "frame/nest.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace casemate::box {

struct WardenOptions {
  std::string program;  // path of casemate-warden
  Weakenings weakenings;
};

// The descriptors that a box gets; all owned by the caller, who closes his copies after make_box().
struct BoxEnds {
  int image = -1, guest = -1;  // directories
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1, control = -1;
  std::array<int, frame::kRuntimeFilesMax> runtime = {-1, -1, -1};  // of a stronger rung: its runtime's
};

// A slot that waits for its program, and where to read what it uses.
struct Parked {
  frame::WardenHeader header;
  std::uint64_t walls_on = 0;
  std::uint64_t setup_us = 0;
  std::uint64_t outside_id = 0;
  int processor = -1;  // where its guest sleeps, which is a hint; -1: not known
  sys::Fd wall_timer;  // to be set before the program is sent
  UsageFiles usage;
};

// What a warden says by itself. Each names the box or the nest that it is about in its header.
using WardenEvent = std::variant<std::monostate, frame::BoxStarted, frame::BoxEnded, frame::BoxGone, Parked,
                                 frame::NestReady, frame::NestEnded, frame::ZygoteGone, frame::BoxFrozen>;

// A private warden, one per engine. One thread. Its destructor closes the socket, which makes the
// warden destroy every box and clean up, and waits for that.
class WardenClient {
 public:
  // Starts the program and returns at once; hello() waits for its word.
  static Result<WardenClient> start(const WardenOptions& options);
  // What the host gives. Where an ordinary user lacks a delegated control group and has a systemd user
  // manager, the warden is started again in a scope of its own.
  // Errors: denied (boxes cannot be made here: the message says why and what to do), unavailable, deadline.
  Result<frame::Hello> hello(Deadline deadline);
  // A box may be asked for before hello(): a warden that can goes on with it at once, which saves a cold
  // run two wake-ups. One that cannot reads and drops it. True when hello() started another one, which has
  // then to be asked again.
  bool started_again() const { return started_again_; }

  WardenClient(WardenClient&&) noexcept = default;
  WardenClient& operator=(WardenClient&&) = delete;
  ~WardenClient();

  const sys::Fd& socket() const { return socket_; }
  int pid() const { return child_.pid(); }

  Result<void> make_box(std::uint64_t box, const BoxSpec& spec, const BoxEnds& ends);
  Result<void> end_box(std::uint64_t box, frame::EndCause cause);
  // A zygote that loads `preload` and forks the guests of boxes that name the nest. kNestReady or kNestEnded
  // follows. The directories are the caller's.
  Result<void> make_nest(std::uint64_t nest, const NestSpec& spec, int image, int guest);
  Result<void> end_nest(std::uint64_t nest);
  // The guest of a box that parks has said that it waits. Parked follows, if it still does. Said of a parked
  // box: another run follows in it, and what it used until now is not that one's; no event follows.
  Result<void> park_box(std::uint64_t box);
  // A parked box was sent its program, `running` ago. kBoxEnded follows, at the latest when its time is over.
  Result<void> start_box(std::uint64_t box, milliseconds wall, milliseconds cpu_time, microseconds running);
  // Stops a box and its clocks: BoxFrozen follows, unless it has ended. One that is not let go on in that
  // time is ended.
  Result<void> freeze_box(std::uint64_t box, milliseconds most);
  Result<void> thaw_box(std::uint64_t box);
  // As destroy_box(), without waiting: kBoxGone follows.
  Result<void> begin_destroy(std::uint64_t box);

  // The next event, when has_events() or the socket is readable. Errors: unavailable (the warden is gone).
  Result<WardenEvent> next();
  // Events came while an answer was waited for.
  bool has_events() const { return !events_.empty(); }
  // A regular file of a box that has ended. Blocks until the answer or the deadline.
  // Errors: not_found, denied (a link, a pipe, …), unavailable, deadline.
  Result<sys::Fd> open_file(std::uint64_t box, const std::string& path, Deadline deadline);
  Result<frame::BoxGone> destroy_box(std::uint64_t box, Deadline deadline);

 private:
  WardenClient(WardenOptions options, sys::Fd socket, sys::Child child)
      : options_(std::move(options)), socket_(std::move(socket)), child_(std::move(child)) {}
  Result<void> tell(std::string_view message, std::span<const int> fds);
  Result<sys::Message> await(Deadline deadline);
  static Result<WardenEvent> event_of(sys::Message& message);
  template <typename T>
  Result<T> await_answer(frame::WardenType type, std::uint64_t box, Deadline deadline,
                         std::vector<sys::Fd>& fds);

  WardenOptions options_;
  sys::Fd socket_;
  sys::Child child_;
  bool started_again_ = false;
  std::deque<WardenEvent> events_;
};

}  // namespace casemate::box
