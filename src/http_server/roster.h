// The connections that are there, and which of them wait for their client.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>

#include "sys/fd.h"

namespace casemate::http_server {

// Thread-safe. A connection that is cut finds its socket shut down, both ways: its thread wakes up from
// whatever wait it is in and ends. Shutting down a socket does not block, so the mutex is held over it; that
// keeps a descriptor from being closed, and its number given to another, between the look and the cut.
class Roster {
 public:
  enum class Stage : unsigned char {
    kNew,      // no head came whole yet
    kIdle,     // between two requests
    kReading,  // a head came, its body does; nothing is begun
    kBusy,     // a handler is at it
    kCut,
  };
  struct Seat {
    int fd = -1;
    Stage stage = Stage::kNew;
  };
  using Place = std::list<Seat>::iterator;

  // Cut at once when the server drains. `socket` must stay open until leave().
  Place enter(const sys::Fd& socket);
  void leave(Place place);
  // False when it is cut: then no request is begun any more. What becomes idle while the server drains is
  // cut.
  bool move(Place place, Stage stage);

  // Makes room: cuts the one that has been new longest; if there is none, the one that has been idle longest;
  // if there is none, the one whose body has been coming longest. False when a handler is at each of them.
  bool cut_one_waiting();
  // Everything that is new or idle, now and from now on.
  void drain();
  // Everything. How many that were.
  std::size_t cut_all();

 private:
  std::list<Seat>& list_of(Stage stage) { return seats_[static_cast<std::size_t>(stage)]; }
  void cut(Place place);

  std::mutex mutex_;
  // Guarded by mutex_. By stage; each in the order in which they came into it.
  std::array<std::list<Seat>, 5> seats_;
  bool draining_ = false;
};

}  // namespace casemate::http_server
