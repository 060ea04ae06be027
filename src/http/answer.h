// What the caller is told of an exchange: one line (connect/exec_protocol.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/config.h"

namespace casemate::http {

struct Asked {
  std::uint64_t id = 0;
  milliseconds time_left{0};
  std::string idempotency_key;  // fit for a header
};

// What a line asks. Errors: invalid.
Result<Asked> read_asked(std::string_view line);

std::string not_done(std::uint64_t id, std::string_view why);
std::string unknown(std::uint64_t id, std::string_view why);

// A whole answer of the server. With 2xx it is an object of "result" or "error"; with any status it may be
// one of "not_done". It may have the "id" of what was asked. Whatever else it says, nobody knows what was
// done; none of it is shown, since it may repeat what we sent.
std::string answer_of(std::uint64_t id, long status, std::string_view body, const Config& config);

}  // namespace casemate::http
