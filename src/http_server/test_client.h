// For tests: a client that sends bytes and reads bytes, and knows of HTTP what it takes to find an answer's
// end.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "http_server/socket.h"
#include "sys/fd.h"

namespace casemate::http_server {

struct Reply {
  int status = 0;  // 0: the connection ended without an answer
  std::string head;
  std::string body;
  bool whole = false;
  // The value of a field, or nothing. `name` as the server writes it.
  std::string field(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  // Of a problem document.
  std::string code() const {
    const std::size_t at = body.find("\"code\":\"");
    return at == std::string::npos ? "" : body.substr(at + 8, body.find('"', at + 8) - at - 8);
  }
};

class RawClient {
 public:
  static constexpr milliseconds kPatience{10'000};

  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  explicit RawClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  // False when the server does not take it any more.
  bool send(std::string_view bytes) {
    return send_all(socket_, {bytes, "", ""}, Deadline::in(kPatience)).has_value();
  }
  void end_sending() { (void)::shutdown(socket_.get(), SHUT_WR); }
  void hang_up() { socket_.reset(); }
  const sys::Fd& socket() const { return socket_; }

  // The next answer. `has_body`: false for what answers HEAD.
  Reply read_reply(bool has_body = true) {
    Reply reply;
    if (!read_until("\r\n\r\n")) return reply;
    reply.head = take(in_.find("\r\n\r\n") + 4);
    reply.status = std::stoi(reply.head.substr(9, 3));
    if (!has_body || reply.status == 204 || reply.status / 100 == 1) {
      reply.whole = true;
    } else if (const std::string length = reply.field("Content-Length"); !length.empty()) {
      const auto size = std::stoul(length);
      while (in_.size() < size && read_some()) {
      }
      reply.whole = in_.size() >= size;
      reply.body = take(std::min<std::size_t>(size, in_.size()));
    } else if (reply.field("Transfer-Encoding") == "chunked") {
      reply.whole = read_chunks(reply.body);
    } else {
      reply.body = read_to_end();
      reply.whole = true;
    }
    return reply;
  }
  Reply ask(std::string_view bytes) {
    (void)send(bytes);
    return read_reply();
  }
  // Up to and with `mark`, of a stream that goes on.
  std::string read_to(std::string_view mark) {
    if (!read_until(mark)) return std::exchange(in_, {});
    return take(in_.find(mark) + mark.size());
  }
  // What comes until the server ends the connection.
  std::string read_to_end() {
    while (read_some()) {
    }
    return std::exchange(in_, {});
  }
  // Whether the server has ended the connection, or does in time, with nothing more to say.
  bool is_ended(milliseconds patience = kPatience) {
    return in_.empty() && read_more(socket_, in_, 1, Deadline::in(patience)) == ReadEnd::kClosed;
  }

 private:
  bool read_some() { return read_more(socket_, in_, 65536, Deadline::in(kPatience)) == ReadEnd::kData; }
  bool read_until(std::string_view mark) {
    while (in_.find(mark) == std::string::npos)
      if (!read_some()) return false;
    return true;
  }
  std::string take(std::size_t size) {
    std::string taken = in_.substr(0, size);
    in_.erase(0, size);
    return taken;
  }
  // True with the last chunk.
  bool read_chunks(std::string& body) {
    for (;;) {
      if (!read_until("\r\n")) return false;
      const std::string line = take(in_.find("\r\n") + 2);
      const auto size = std::stoul(line, nullptr, 16);
      while (in_.size() < size + 2)
        if (!read_some()) return false;
      body += take(size);
      EXPECT_EQ(take(2), "\r\n");
      if (size == 0) return true;
    }
  }

  sys::Fd socket_;
  std::string in_;
};

}  // namespace casemate::http_server
