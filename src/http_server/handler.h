// What a server needs from above: somebody who answers requests.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "http_server/answer.h"
#include "http_server/request.h"
#include "sys/fd.h"

namespace casemate::http_server {

// Who waits for an answer. Lives as long as the call that it is given to. Thread-safe.
class Client {
 public:
  Client(const sys::Fd& socket, const sys::Fd& drain, const std::atomic<bool>& draining)
      : socket_(socket), drain_(drain), draining_(draining) {}

  // The client has closed its connection, or its sending half: who says no more and waits for an answer all
  // the same cannot be told from who is gone, and is taken for it. Asks the kernel, does not wait.
  bool gone() const;
  // For a poll set: becomes ready, in whatever way, when the client is gone. Not to be read or closed.
  pollfd watch() const { return {socket_.get(), POLLRDHUP, 0}; }

  // The server is about to stop: what can be taken up again elsewhere, such as a stream, should end.
  bool draining() const { return draining_.load(); }
  // Becomes readable, and stays so, when that begins.
  pollfd watch_draining() const { return {drain_.get(), POLLIN, 0}; }

 private:
  const sys::Fd& socket_;
  const sys::Fd& drain_;
  const std::atomic<bool>& draining_;
};

// What is to become of a request whose head has come and whose body has not.
struct Admission {
  // The answer, then: handle() is not called, and the body is not kept.
  std::optional<Answer> refusal;
  // A body with more bytes is refused, before it is read where its length is known.
  std::uint64_t body_max = 0;
};

// Called by many connections' threads at once. One request of a connection is through before the next is
// begun.
class Handler {
 public:
  virtual ~Handler() = default;
  // Soon, and without an effect, since the body may never come: who it is, whether there is such a path, how
  // large a body may be. May write the last members of the request.
  virtual Admission admit(Request& request) = 0;
  // With the body. May take as long as it takes; should look at `client` where it waits, and return when it
  // is gone: a server that ends waits for it.
  virtual Answer handle(const Request& request, const Client& client) = 0;
};

}  // namespace casemate::http_server
