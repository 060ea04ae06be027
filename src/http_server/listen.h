// The sockets that clients come to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "http_server/options.h"
#include "sys/fd.h"

namespace casemate::http_server {

// Errors: unavailable (the port is taken), system.
Result<sys::Fd> listen_on_loopback(const Options::Loopback& where);
// Of a socket that listens. Errors: system.
Result<std::uint16_t> port_of(const sys::Fd& listener);

// A socket in the file system, whose file is removed with it.
//
// Beside it lies PATH.lock, which the process that listens holds locked and nobody removes: while it is held,
// what lies at PATH is a dead socket of a predecessor if it is a socket of this user's that nobody answers
// at. That is removed; anything else that lies there is left as it is, and is an error.
class UnixListener {
 public:
  UnixListener() = default;
  // Errors: invalid (the path is too long, or what is there is no socket of ours), unavailable (another
  // process listens there), denied (others may write to the directory), system.
  static Result<UnixListener> open(const std::string& path, unsigned mode);
  UnixListener(UnixListener&& other) noexcept { *this = std::move(other); }
  UnixListener& operator=(UnixListener&& other) noexcept;
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  ~UnixListener() { close(); }

  const sys::Fd& socket() const { return socket_; }
  // Removes the file, if it is still the one that was made here.
  void close();

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  // Closed bottom-up: the lock last.
  sys::Fd lock_;
  sys::Fd socket_;
};

}  // namespace casemate::http_server
