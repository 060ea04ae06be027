// Debian's nginx as somebody who answers at once: what a tool call over HTTP costs at the least.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sys/process.h"

namespace casemate::bench {

// Serves `return 200 "1"` to every request, on loopback, without a log of them. Ends with this.
class Nginx {
 public:
  // Its path; empty: it is not installed.
  static std::string find();
  // `folder` is its own from now on. Waits until it answers. Errors: unavailable (it has ended, or does not
  // answer), system.
  static Result<Nginx> start(const std::string& program, const std::string& folder);

  std::uint16_t port() const { return port_; }

 private:
  Nginx(sys::Child child, std::uint16_t port) : child_(std::move(child)), port_(port) {}

  sys::Child child_;
  std::uint16_t port_;
};

}  // namespace casemate::bench
