// What an operator chooses, and what the server counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace casemate::http_server {

struct Options {
  // At least one of the two is given. There is no TLS here, so TCP is the loopback interface alone: what is
  // reached from elsewhere has a proxy in front.
  struct Loopback {
    std::uint16_t port = 0;  // 0: the kernel chooses
    bool ipv6 = false;       // ::1 in place of 127.0.0.1
  };
  std::optional<Loopback> loopback;
  std::string unix_socket;    // a path; empty: none
  unsigned unix_mode = 0600;  // of the socket: who may connect

  // Connections at once, each with a thread of its own. When they are all there, one more takes the place of
  // one that waits for its client (roster.h says which); if a handler is at each of them, it is turned away.
  std::size_t connections_max = 512;
  // Of all requests' bodies together, in memory.
  Bytes bodies_max = mib(256);

  milliseconds head_time{
      10'000};  // for a request line and all fields; from the first byte, or the connection
  milliseconds idle_time{60'000};  // between two requests
  milliseconds body_time{
      10'000};  // for a body; and a second more for each `least_rate` bytes of it that came
  milliseconds write_time{10'000};   // for an answer, likewise; and for each piece of a stream
  std::uint64_t least_rate = 16384;  // bytes a second
  milliseconds linger_time{1'000};   // for a client to take note of the end
};

// Errors: invalid (which member, what it may be).
Result<void> check_options(const Options& options);

// Since the start, but for the first.
struct Counts {
  std::uint64_t connections = 0;  // now
  std::uint64_t accepted = 0;     // all of them, those below too
  std::uint64_t turned_away = 0;  // with 503, since all were busy
  std::uint64_t evicted = 0;      // waiting ones that made room
  std::uint64_t requests = 0;     // that a handler was asked about
  std::uint64_t refused = 0;  // heads and bodies that no handler saw whole: 4xx and 5xx of the server itself
  std::uint64_t late = 0;     // heads and bodies that came too slowly
  std::uint64_t unread = 0;   // answers and streams that the client did not read, or left
};

}  // namespace casemate::http_server
