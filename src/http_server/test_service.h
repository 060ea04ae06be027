// For tests: a server with a few routes, and times that a test can wait for.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "http_server/events.h"
#include "http_server/router.h"
#include "http_server/server.h"
#include "http_server/test_client.h"

namespace casemate::http_server {

inline Options test_options() {
  Options options;
  options.loopback = Options::Loopback{};
  options.connections_max = 16;
  options.head_time = milliseconds(5000);
  options.idle_time = milliseconds(5000);
  options.body_time = milliseconds(5000);
  options.write_time = milliseconds(5000);
  options.linger_time = milliseconds(200);
  return options;
}

inline std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}
inline std::string post(const std::string& path, const std::string& body, const std::string& fields = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + fields + "\r\n" + body;
}

// GET /healthz; POST /echo (at most 1000 bytes); GET /hold (until the client is gone, the server drains, or a
// test lets it go); POST /secret (never let in).
class Service {
 public:
  Service()
      : router_([](Request& request) {
          return request.path.at(0) == "secret" ? std::optional<Answer>(unauthorized_answer()) : std::nullopt;
        }) {
    add("GET", "/healthz", 0,
        [](const Request&, const Client&) { return json_answer(200, R"({"ok":true})"); });
    add("POST", "/echo", 1000, [this](const Request& request, const Client&) {
      ++echoes;
      Answer answer;
      answer.body = request.body;
      return answer;
    });
    add("GET", "/hold", 0, [this](const Request&, const Client& client) { return hold(client); });
    add("POST", "/secret", 1000, [](const Request&, const Client&) { return json_answer(200, "{}"); });
  }

  void add(const char* method, const char* pattern, std::uint64_t body_max,
           std::function<Answer(const Request&, const Client&)> act) {
    const auto added = router_.add({method, pattern, Route::Access::kKeyed, body_max, std::move(act)});
    ASSERT_TRUE(added) << added.error().message;
  }
  void start(Options options = test_options()) {
    auto server = Server::start(router_, std::move(options));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  void stop() { server_.reset(); }
  Server& server() { return *server_; }
  std::uint16_t port() const { return server_->port(); }

  std::atomic<int> echoes{0}, holding{0}, saw_gone{0}, saw_drain{0};
  std::atomic<bool> let_go{false};

 private:
  static Answer unauthorized_answer() {
    return problem(Problem{401, "unauthorized", "send a key", "", std::nullopt});
  }
  Answer hold(const Client& client) {
    ++holding;
    while (!let_go) {
      std::array<pollfd, 2> items = {client.watch(), client.watch_draining()};
      (void)::poll(items.data(), items.size(), 5);
      if (client.gone()) {
        ++saw_gone;
        break;
      }
      if (client.draining()) ++saw_drain;
    }
    --holding;
    return json_answer(200, R"({"held":true})");
  }

  Router router_;
  std::unique_ptr<Server> server_;
};

// Whether it comes true within some seconds.
template <typename Condition>
bool comes_true(Condition condition) {
  const Deadline deadline = Deadline::in(milliseconds(10'000));
  while (!condition()) {
    if (deadline.passed(now())) return false;
    (void)::poll(nullptr, 0, 2);
  }
  return true;
}

}  // namespace casemate::http_server
