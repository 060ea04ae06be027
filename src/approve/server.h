// The socket of a process whose runs may ask: `casemate approvals` comes here.
//
// Each such process has one, in a directory that is its user's alone. A thread serves one connection after
// the other, each for a request and its reply, with a deadline on both. Who connects has to be the same user
// or root, by the kernel's word.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "approve/desk.h"
#include "base/clock.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::approve {

// Root: /run/casemate. Others: $XDG_RUNTIME_DIR/casemate or /tmp/casemate-<uid>. Made with mode 0700.
// Errors: denied (it is there and not ours alone), system.
Result<std::string> approvals_directory();

class Server {
 public:
  // The desk must outlive it. Errors: system, invalid (the directory's path is too long for a socket).
  static Result<std::unique_ptr<Server>> start(Desk& desk, const std::string& directory);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  Server(Desk& desk, std::string path, sys::Fd listener, sys::Fd stop);
  void serve();
  void serve_one(const sys::Fd& peer);

  Desk& desk_;
  const std::string path_;
  sys::Fd listener_, stop_;
  std::thread thread_;
};

// The sockets of a directory. Those of processes that are gone are removed. Errors: system.
Result<std::vector<std::string>> sockets_in(const std::string& directory);
// One request and its reply, each a line. Errors: unavailable (nobody listens there any more), deadline.
Result<std::string> ask_server(const std::string& socket, const std::string& line, Deadline deadline);

}  // namespace casemate::approve
