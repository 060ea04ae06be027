// For the tests of the launcher's parts: sockets, and the runner's frames.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/frame.h"
#include "frame/guest.h"
#include "microvm/message_io.h"

namespace casemate::guest {

using frame::GuestType;
using frame::Tag;

inline std::string frame_of(GuestType type, std::string_view payload = {}) {
  std::string out;
  frame::append_frame(out, static_cast<std::uint16_t>(type), payload);
  return out;
}
inline std::string frame_of(GuestType type, const std::vector<std::pair<Tag, std::string>>& fields) {
  std::string payload;
  for (const auto& [tag, bytes] : fields)
    frame::append_field(payload, static_cast<std::uint16_t>(tag), bytes);
  return frame_of(type, payload);
}
inline std::string artifact(const std::string& path) {
  return frame_of(GuestType::kArtifact, {{Tag::kPath, path}});
}
inline std::string collect(const std::string& path) {
  return frame_of(GuestType::kCollect, {{Tag::kPath, path}});
}
inline std::string broken_header() { return std::string(frame::kHeaderSize, '\xff'); }

// Two connected descriptors, of which each closes once.
class Ends {
 public:
  enum class Kind { kSocket, kPipe };
  // Of a pipe the first reads.
  explicit Ends(Kind kind = Kind::kSocket) {
    const int made = kind == Kind::kPipe ? ::pipe2(fds_.data(), O_CLOEXEC)
                                         : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_.data());
    EXPECT_EQ(made, 0);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    for (std::size_t i = 0; i < fds_.size(); ++i) end(i);
  }
  int first() const { return fds_[0]; }
  int second() const { return fds_[1]; }
  void end_first() { end(0); }
  void end_second() { end(1); }

 private:
  void end(std::size_t which) {
    if (fds_.at(which) >= 0) (void)::close(fds_.at(which));
    fds_.at(which) = -1;
  }
  std::array<int, 2> fds_ = {-1, -1};
};

inline void set_nonblocking(int fd) { ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK), 0); }

inline constexpr int kDeadlineMs = 10'000;  // of what should take none

// What comes until there is so much of it, or no more to come, or nothing for a while.
inline std::string read_up_to(int fd, std::size_t count, int for_ms = kDeadlineMs) {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (text.size() < count) {
    pollfd item{fd, POLLIN, 0};
    if (::poll(&item, 1, for_ms) <= 0) break;
    const ssize_t got = ::read(fd, buffer.data(), std::min(buffer.size(), count - text.size()));
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}
inline std::string read_to_end(int fd) { return read_up_to(fd, std::string::npos); }

// False: the other end is gone, or takes nothing for a while.
inline bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd item{fd, POLLOUT, 0};
    if (::poll(&item, 1, kDeadlineMs) <= 0) return false;
    const ssize_t put = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace casemate::guest
