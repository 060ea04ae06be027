// Which function answers which path.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http_server/handler.h"

namespace casemate::http_server {

struct Route {
  std::string method;  // "GET"; HEAD is answered by it too, unless a route of its own does
  std::string
      pattern;  // "/v1/runs/{id}": segments of letters, digits and -_.~, or a name in braces for any segment
  // Who may ask. Open is for what says nothing about anybody, such as health.
  enum class Access { kKeyed, kOpen } access = Access::kKeyed;
  std::uint64_t body_max = 0;
  std::function<Answer(const Request&, const Client&)> act;
};

// A handler made of routes. Routes are added before it serves; after that it is immutable, and thread-safe if
// the functions are.
class Router : public Handler {
 public:
  // `guard`: is asked before the body of each request for a route that is not open; writes request.tenant, or
  // answers.
  explicit Router(std::function<std::optional<Answer>(Request&)> guard) : guard_(std::move(guard)) {}

  // Errors: invalid (the pattern is none, or names one part twice; the method is none; another route has the
  // same method and the same paths), exhausted (kRoutesMax).
  Result<void> add(Route route);

  // No such path: 404. The path, but not with this method: 405, and Allow says with which. A segment that a
  // pattern spells out goes before a named part, from the left. Named parts match one segment each, never an
  // empty one.
  Admission admit(Request& request) override;
  Answer handle(const Request& request, const Client& client) override;

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;  // a named part in its braces
  };
  static bool matches(const Entry& entry, const Request& request);
  const Entry* find(const Request& request, std::string_view method) const;
  std::string methods_of(const Request& request) const;

  std::function<std::optional<Answer>(Request&)> guard_;
  std::vector<Entry> entries_;
};

}  // namespace casemate::http_server
