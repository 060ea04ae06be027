#include "sys/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace casemate::sys {

void Fd::reset(int fd) {
  if (fd_ >= 0) (void)::close(fd_);  // nothing can be done about a failed close
  fd_ = fd;
}

Result<Pair> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("pipe2");
  return Pair{Fd(ends[0]), Fd(ends[1])};
}

namespace {

Result<Pair> make_socket_pair(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) < 0) return fail_errno("socketpair");
  return Pair{Fd(ends[0]), Fd(ends[1])};
}

// Room for the descriptors of one message, aligned as the kernel wants it.
union ControlBuffer {
  std::array<char, CMSG_SPACE(sizeof(int) * kMessageFdsMax)> bytes;
  cmsghdr align;
};

}  // namespace

Result<Pair> make_stream_pair() { return make_socket_pair(SOCK_STREAM); }
Result<Pair> make_seqpacket_pair() { return make_socket_pair(SOCK_SEQPACKET); }

Result<void> set_nonblocking(const Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno("fcntl O_NONBLOCK");
  return {};
}

Result<Fd> open_at(int directory, const std::string& path, int flags, unsigned mode) {
  Fd fd(::openat(directory, path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) return fail_errno("open " + path);
  return fd;
}

Result<std::size_t> read_some(const Fd& fd, std::span<char> buffer) {
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_errno("read");
  }
}

Result<void> write_all(const Fd& fd, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno("write");
    pollfd item{fd.get(), POLLOUT, 0};
    const int timeout = deadline.poll_timeout_ms(now());
    if (timeout == 0) return fail(ErrorCode::kDeadline, "the reader does not take what is written");
    if (::poll(&item, 1, timeout) < 0 && errno != EINTR) return fail_errno("poll");
  }
  return {};
}

Result<std::string> read_file(const Fd& fd, std::size_t most) {
  std::string content;
  std::array<char, 4096> chunk{};
  for (;;) {
    const std::size_t got = TRY(read_some(fd, chunk));
    if (got == 0) return content;
    if (content.size() + got > most) return fail(ErrorCode::kExhausted, "the file is too large");
    content.append(chunk.data(), got);
  }
}

Result<std::string> read_file_at(int directory, const std::string& path, std::size_t most) {
  const Fd fd = TRY(open_at(directory, path, O_RDONLY));
  auto content = read_file(fd, most);
  if (!content) return fail_with_context(content.error(), path);
  return content;
}

Result<void> write_file_at(int directory, const std::string& path, std::string_view bytes) {
  const Fd fd = TRY(open_at(directory, path, O_WRONLY));
  const ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
  if (put < 0) return fail_errno("write " + path);
  if (static_cast<std::size_t>(put) != bytes.size()) {
    return fail(ErrorCode::kSystem, "write " + path + ": cut short");
  }
  return {};
}

Result<bool> wait_readable(const Fd& fd, Deadline deadline) {
  for (;;) {
    pollfd item{fd.get(), POLLIN, 0};
    const int ready = ::poll(&item, 1, deadline.poll_timeout_ms(now()));
    if (ready > 0) return true;
    if (ready == 0) {
      if (deadline.passed(now())) return false;
      continue;
    }
    if (errno != EINTR) return fail_errno("poll");
  }
}

Result<void> send_message(const Fd& socket, std::string_view bytes, std::span<const int> fds) {
  if (fds.size() > kMessageFdsMax) return fail(ErrorCode::kInternal, "too many descriptors in one message");
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ControlBuffer control{};
  if (!fds.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(item), fds.data(), fds.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket.get(), &header, MSG_NOSIGNAL) >= 0) return {};
    if (errno != EINTR) return fail_errno("sendmsg");
  }
}

Result<Message> receive_message(const Fd& socket, std::size_t most) {
  Message message;
  message.bytes.resize(most + 1);  // one more, so that a longer message shows
  iovec part{message.bytes.data(), message.bytes.size()};
  msghdr header{};
  ControlBuffer control{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno("recvmsg");
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
      message.fds.emplace_back(fd);
    }
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || static_cast<std::size_t>(got) > most) {
    return fail(ErrorCode::kInvalid, "a message is longer than its form allows");
  }
  message.bytes.resize(static_cast<std::size_t>(got));
  message.end = got == 0 && message.fds.empty();
  return message;
}

}  // namespace casemate::sys
