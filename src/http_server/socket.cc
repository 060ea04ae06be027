#include "http_server/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

// False at the deadline.
bool wait_for(const sys::Fd& socket, short events, Deadline deadline) {
  for (;;) {
    pollfd item{socket.get(), events, 0};
    const int ready = ::poll(&item, 1, deadline.poll_timeout_ms(now()));
    if (ready > 0) return true;
    if (ready == 0 && deadline.passed(now())) return false;
    if (ready < 0 && errno != EINTR) return true;  // the call that follows fails too
  }
}

}  // namespace

ReadEnd read_more(const sys::Fd& socket, std::string& buffer, std::size_t most, Deadline deadline) {
  const std::size_t before = buffer.size();
  for (;;) {
    if (!wait_for(socket, POLLIN, deadline)) return ReadEnd::kLate;
    buffer.resize(before + most);
    const ssize_t got = ::recv(socket.get(), buffer.data() + before, most, MSG_DONTWAIT);
    buffer.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got > 0) return ReadEnd::kData;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return ReadEnd::kClosed;
  }
}

Result<void> send_all(const sys::Fd& socket, std::array<std::string_view, 3> parts, Deadline deadline) {
  std::size_t left = parts[0].size() + parts[1].size() + parts[2].size();
  while (left > 0) {
    std::array<iovec, 3> vectors{};
    for (std::size_t i = 0; i < parts.size(); ++i)
      vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    msghdr header{};
    header.msg_iov = vectors.data();
    header.msg_iovlen = vectors.size();
    const ssize_t put = ::sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) {
      auto sent = static_cast<std::size_t>(put);
      left -= sent;
      for (std::string_view& part : parts) {
        const std::size_t of_part = std::min(sent, part.size());
        part.remove_prefix(of_part);
        sent -= of_part;
      }
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail(ErrorCode::kCancelled, "the client is gone");
    if (!wait_for(socket, POLLOUT, deadline))
      return fail(ErrorCode::kDeadline, "the client does not read what it asked for");
  }
  return {};
}

bool peer_is_gone(const sys::Fd& socket) {
  pollfd item{socket.get(), POLLRDHUP, 0};
  return ::poll(&item, 1, 0) > 0;
}

void close_gently(const sys::Fd& socket, Deadline deadline) {
  if (::shutdown(socket.get(), SHUT_WR) < 0) return;  // it is closed already
  std::string nothing;
  std::uint64_t read = 0;
  while (read < kLingerBytesMax) {
    nothing.clear();
    if (read_more(socket, nothing, kReadMax, deadline) != ReadEnd::kData) return;
    read += nothing.size();
  }
}

}  // namespace casemate::http_server
