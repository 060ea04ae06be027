// Carries between the engine and the guest.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "microvm/channel.h"
#include "microvm/control_filter.h"
#include "microvm/layer_files.h"
#include "microvm/message_io.h"
#include "microvm/monitor.h"

namespace casemate::guest {

// Bytes for a descriptor that may not take them at once.
class Outlet {
 public:
  explicit Outlet(int fd) : fd_(fd) {}
  void add(std::string_view bytes);
  void give();
  bool holds() const { return !held_.empty(); }
  std::size_t size() const { return held_.size(); }
  pollfd item() const { return {holds() ? fd_ : -1, POLLOUT, 0}; }

 private:
  int fd_;
  std::string held_;
  bool over_ = false;  // nobody takes it any more
};

// None of these descriptors blocks.
struct RelayEnds {
  int control = -1, out = -1, err = -1;  // the engine's
  int port = -1;                         // the guest's
  std::string layer = "/vol";            // the box's
};

// No wait here has a deadline of its own: the box's wall clock ends them all, from outside.
//
// What the guest said later is not looked at before the engine has taken what it said earlier: a word of the
// runner's must not overtake what was printed before it. So little is held for an engine that does not read:
// of what the guest has printed one message, of its control channel one frame and what one message brought.
class Relay {
 public:
  // `monitor`: of a machine whose guest parks and is stopped until its program comes; else nullptr.
  // `run`: what the guest has to give back in the end.
  Relay(const RelayEnds& ends, Monitor* monitor, const Nonce& run);
  // Until the program has ended and all that it said and made is handed on. Nothing: the machine ended
  // without a word, or broke its word.
  std::optional<GuestEnded> carry();

 private:
  bool full() const { return out_.holds() || err_.holds() || to_engine_.holds(); }
  bool take_said();
  bool take(const ReceivedMessage& said);
  void hear_engine();
  std::vector<std::string> all_files() const;
  void next_file();

  RelayEnds ends_;
  Monitor* monitor_;
  Nonce run_;
  bool parked_ = false, stopped_ = false;
  Outlet to_guest_, out_, err_, to_engine_;
  bool engine_ended_ = false;
  ControlFilter from_guest_{ControlFilter::From::kGuest}, from_engine_{ControlFilter::From::kEngine};
  MessageReader reader_;
  std::optional<GuestEnded> ended_;
  std::vector<std::string> files_;  // to be fetched, the last first
  bool fetching_ = false, knows_kind_ = false;
  LayerFile file_;
};

// The time of day, as the guest is told it: a machine that was stopped has an old one.
std::string clock_message();

}  // namespace casemate::guest
