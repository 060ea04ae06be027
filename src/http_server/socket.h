// Reading and writing a connection's socket: nonblocking underneath, each wait with a deadline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::http_server {

enum class ReadEnd {
  kData,
  kClosed,  // the peer sends no more, or the connection is broken, or we have shut it down
  kLate,    // nothing before the deadline
};
// Waits, then appends what is there, at most `most` bytes.
ReadEnd read_more(const sys::Fd& socket, std::string& buffer, std::size_t most, Deadline deadline);

// Writes them one behind the other, without SIGPIPE. Errors: deadline (the peer does not read), cancelled (it
// is gone).
Result<void> send_all(const sys::Fd& socket, std::array<std::string_view, 3> parts, Deadline deadline);

// Whether the peer has closed its connection, or at least its sending half. Does not wait.
bool peer_is_gone(const sys::Fd& socket);

// Says that nothing more comes, and reads for nothing until the peer has taken note: a socket that is closed
// with bytes unread resets the connection, which may cost the peer what was sent last (RFC 9112,
// section 9.6).
void close_gently(const sys::Fd& socket, Deadline deadline);

}  // namespace casemate::http_server
