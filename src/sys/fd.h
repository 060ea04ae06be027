// File descriptors that own themselves, and the few ways in which we make and use them.
// Everything made here is close-on-exec.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace casemate::sys {

// Owns one descriptor, or none. Closing ignores errors: there is nothing that a caller could do.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pair {
  Fd first;   // a pipe's read end; either end of a socket pair
  Fd second;  // a pipe's write end
};

Result<Pair> make_pipe();
// Connected AF_UNIX sockets. Stream for byte streams, seqpacket for one message per frame.
Result<Pair> make_stream_pair();
Result<Pair> make_seqpacket_pair();

Result<void> set_nonblocking(const Fd& fd);

// Opens relative to `directory` (AT_FDCWD for the working directory). For paths of our own; a path
// that a guest may have shaped goes through beneath.h.
Result<Fd> open_at(int directory, const std::string& path, int flags, unsigned mode = 0);

// Reads what is there, at most buffer.size(). Zero is the end of the stream.
// Errors: system; errno_value EAGAIN when a non-blocking descriptor has nothing now.
Result<std::size_t> read_some(const Fd& fd, std::span<char> buffer);
// Writes all of it to a blocking or non-blocking descriptor. Errors: deadline, system (EPIPE …).
Result<void> write_all(const Fd& fd, std::string_view bytes, Deadline deadline);
// The whole of a regular file of ours. Errors: exhausted when it is larger than `most`.
Result<std::string> read_file(const Fd& fd, std::size_t most);
Result<std::string> read_file_at(int directory, const std::string& path, std::size_t most);
// Writes to an existing file in one write(2), as kernel control files want it.
Result<void> write_file_at(int directory, const std::string& path, std::string_view bytes);

// Waits until `fd` can be read (or has ended). False at the deadline.
Result<bool> wait_readable(const Fd& fd, Deadline deadline);

inline constexpr std::size_t kMessageFdsMax = 16;

struct Message {
  std::string bytes;
  std::vector<Fd> fds;
  bool end = false;  // the peer closed its socket
};

// One message on a seqpacket socket, with descriptors. Never raises SIGPIPE.
Result<void> send_message(const Fd& socket, std::string_view bytes, std::span<const int> fds);
// Errors: invalid (longer than `most`, or more than kMessageFdsMax descriptors: those that came are
// closed), system (EAGAIN when non-blocking and empty).
Result<Message> receive_message(const Fd& socket, std::size_t most);

}  // namespace casemate::sys
