// How the engine is told that a program ended, by process 1 of a guest or in its name.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "frame/guest.h"

namespace casemate::guest {

// Sends kEnded with a status as waitpid(2) says it. A frame with one number: see frame/frame.h.
inline void tell_end(int control, int status) {
  constexpr int kTellMs = 2000;
  std::array<char, 24> frame{};
  const auto put = [&](std::size_t at, std::uint32_t value) {
    std::memcpy(frame.data() + at, &value, sizeof(value));
  };
  put(0, 16);
  put(4, static_cast<std::uint32_t>(frame::GuestType::kEnded));
  put(8, static_cast<std::uint32_t>(frame::Tag::kWaitStatus));
  put(12, 8);
  put(16, static_cast<std::uint32_t>(status));
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t put_now = ::send(control, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (put_now < 0 && errno == EAGAIN) {  // the program made the socket so; the engine reads
      pollfd item{control, POLLOUT, 0};
      if (::poll(&item, 1, kTellMs) <= 0) return;
    } else if (put_now < 0 && errno != EINTR) {
      return;
    }
    if (put_now > 0) sent += static_cast<std::size_t>(put_now);
  }
}

}  // namespace casemate::guest
