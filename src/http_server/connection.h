// The life of one connection: heads, bodies, answers, in the order that they come.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "http_server/handler.h"
#include "http_server/head.h"
#include "http_server/options.h"
#include "http_server/roster.h"
#include "http_server/wire.h"
#include "sys/fd.h"

namespace casemate::http_server {

// What the connections of a server share. Thread-safe: atomic, immutable or itself so.
struct Shared {
  Handler& handler;
  const Options& options;
  const sys::Fd& drain;  // readable when the server drains
  Roster roster{};
  std::atomic<bool> draining{false};
  std::atomic<std::uint64_t> body_bytes{0};  // in memory now, of all requests
  std::atomic<std::uint64_t> requests{0}, refused{0}, late{0}, unread{0};
};

// On one thread. Returns when the connection has ended; the socket is the caller's to close.
class Connection {
 public:
  // `place`: of the socket in the roster, which is left when this ends.
  Connection(Shared& shared, const sys::Fd& socket, Roster::Place place)
      : shared_(shared), socket_(socket), place_(place) {}
  ~Connection() { shared_.roster.leave(place_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void serve();

 private:
  // Bodies in memory are counted here while a request is under way.
  class Held;

  // These are false when the connection is to end.
  bool wait_for_head(HeadScanner& scanner);
  bool serve_request(const HeadScanner& scanner);
  bool answer_admitted(const HeadFacts& facts, RequestParser& parser, Request& request);
  bool send(const Request& request, const Answer& answer);
  bool send_stream(const Request& request, const Answer& answer, std::vector<Field> fields);

  enum class BodyEnd { kWhole, kGone, kRefused };
  // What came of a request's body, or of what is left of one.
  struct Body {
    BodyEnd end = BodyEnd::kWhole;
    Refusal refusal;  // with kRefused; it is not answered yet
  };
  // In memory, counted by `held`; without one, what comes is dropped. `base`: the time for a body of no
  // bytes.
  Body read_body(RequestParser& parser, std::string& body, Held* held, milliseconds base);
  // After a refusal. Whether the connection can go on with the request behind this one.
  bool pass_over_body(const HeadFacts& facts, RequestParser& parser);
  // Answers and ends.
  void refuse(const Refusal& refusal, const Request& request);
  // `base`, and the time that so many bytes may take.
  Deadline deadline_for(Instant begin, milliseconds base, std::uint64_t bytes) const;

  Shared& shared_;
  const sys::Fd& socket_;
  const Roster::Place place_;
  std::string in_;  // what came and is not yet taken: at most one read beyond a head, or a body's piece
  bool first_ = true;
  bool keep_ = true;  // after the request under way
};

}  // namespace casemate::http_server
