// The calls of one endpoint: POSTs of JSON over HTTP/1.1, many at once, connections kept.
#pragma once

#include <memory>
#include <string>

#include "http/answer.h"
#include "http/config.h"
#include "sys/fd.h"

namespace casemate::http {

// One thread. What it promises of each call:
// - one request at most. A connection that was kept and turns out dead under a request is not tried again.
// - "not done" only while not one byte of the request can have gone out.
// - the certificate is that of the host, and no address is spoken to that is_forbidden() (url/address.h) for
//   a name.
// - no redirect, no proxy, no cookie, no user from a .netrc, no compression, nothing of our environment.
// - its time and the length of its answer, headers and body, are bounded.
class Client {
 public:
  // `config` must outlive it. Errors: system (libcurl cannot begin).
  static Result<std::unique_ptr<Client>> make(const Config& config);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Begins a call whose message is `line`, without an end of line.
  void begin(const Asked& asked, std::string line);

  // Goes on with all calls until one moves, `fd` can be read or has ended, or a second has passed.
  // Errors: system.
  Result<void> wait(const sys::Fd& fd);

  // The lines that the caller is told of calls that are over by now.
  std::string take();

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  void collect();
  std::unique_ptr<State> state_;
};

}  // namespace casemate::http
