// How the engine is told that a program ended, by process 1 of a guest or in its name.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "frame/guest.h"

namespace casemate::guest {

using EndNumber = std::pair<frame::Tag, std::uint64_t>;

// Sends kEnded with these numbers; the first is kWaitStatus. A frame: see frame/frame.h.
inline void tell_end(int control, std::initializer_list<EndNumber> numbers) {
  constexpr int kTellMs = 2000;
  constexpr std::uint32_t kFieldSize = 16;
  constexpr std::size_t kNumbersMax = 8;
  std::array<char, 8 + kFieldSize * kNumbersMax> frame{};
  std::size_t size = 0;
  const auto put = [&](const auto& value) {
    std::memcpy(frame.data() + size, &value, sizeof(value));
    size += sizeof(value);
  };
  put(static_cast<std::uint32_t>(kFieldSize * numbers.size()));
  put(static_cast<std::uint32_t>(frame::GuestType::kEnded));
  for (const auto& [tag, number] : numbers) {
    put(static_cast<std::uint32_t>(tag));
    put(std::uint32_t{8});
    put(number);
  }
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t put_now = ::send(control, frame.data() + sent, size - sent, MSG_NOSIGNAL);
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
