// Writing an answer piece by piece, to a client that may read slowly, not at all, or be gone.
#pragma once

#include <poll.h>

#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::http_server {

// One thread. Lives for one answer; the server makes it.
class BodyWriter {
 public:
  enum class Form {
    kChunked,   // HTTP/1.1
    kUntilEnd,  // HTTP/1.0: the end of the connection is the end of the body
  };
  // `write_time`: what one write may take. The socket must outlive it.
  BodyWriter(const sys::Fd& socket, Form form, milliseconds write_time)
      : socket_(socket), form_(form), write_time_(write_time) {}

  // All of it is with the kernel when this returns. After an error every further write fails with the same
  // one. Errors: cancelled (the client is gone, or abandon() was called), deadline (it does not read).
  Result<void> write(std::string_view piece);
  // Whether the client has gone away, by its socket; asks the kernel, does not wait.
  bool gone() const;
  // For a poll set: it becomes ready, in whatever way, when the client is gone. Not to be read or closed.
  pollfd watch() const { return {socket_.get(), POLLRDHUP, 0}; }
  // What was written is not all that there is: the connection ends without the mark that says so, and the
  // client sees that its answer is cut.
  void abandon();

  // The server's: writes the mark that the answer is whole.
  enum class End { kWhole, kUnread, kAbandoned };
  End finish();

 private:
  const sys::Fd& socket_;
  const Form form_;
  const milliseconds write_time_;
  Result<void> state_;
  bool abandoned_ = false;
};

}  // namespace casemate::http_server
