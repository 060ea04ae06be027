// What is asked of a warden about boxes and nests, and what it says of them.
//
// The warden's client is a line by itself, where one thread does everything. Where runs go on at once each
// has one of its own, which brings only what is about its box.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "box/spec.h"
#include "box/usage.h"
#include "frame/nest.h"
#include "sys/fd.h"

namespace casemate::box {

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

// One thread, but for tell().
class WardenLine {
 public:
  virtual ~WardenLine() = default;
  // Becomes readable when the warden has said something.
  virtual const sys::Fd& readable() const = 0;

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

  // The next event about it, when has_events() or readable(). Errors: unavailable (the warden is gone).
  Result<WardenEvent> next();
  // Events came while an answer was waited for.
  bool has_events() const { return !events_.empty(); }
  // A regular file of a box that has ended. Blocks until the answer or the deadline.
  // Errors: not_found, denied (a link, a pipe, …), unavailable, deadline.
  Result<sys::Fd> open_file(std::uint64_t box, const std::string& path, Deadline deadline);
  Result<frame::BoxGone> destroy_box(std::uint64_t box, Deadline deadline);

  // What all of these are made of: a message that is sent whole, whoever sends others meanwhile, and the next
  // one that comes. Errors: unavailable (the warden is gone); of the second also deadline.
  virtual Result<void> tell(std::string_view message, std::span<const int> fds) = 0;
  virtual Result<sys::Message> receive(Deadline deadline) = 0;

 protected:
  WardenLine() = default;
  WardenLine(WardenLine&&) = default;
  WardenLine& operator=(WardenLine&&) = delete;
  // The events that came while an answer was waited for; none is left.
  std::deque<WardenEvent> take_events() { return std::exchange(events_, {}); }

 private:
  template <typename T>
  Result<T> await_answer(frame::WardenType type, std::uint64_t box, Deadline deadline,
                         std::vector<sys::Fd>& fds);

  std::deque<WardenEvent> events_;
};

// A message as an event. Errors: invalid.
Result<WardenEvent> event_of(sys::Message& message);
// The box or nest that a message is about; 0: none.
std::uint64_t subject_of(std::string_view message);

}  // namespace casemate::box
