// What a person's other terminal says to the process whose runs wait: one JSON line each way.
//
//     {"do": "list"}                                      {"asks": [question, …]}, arguments cut
//     {"do": "show", "id": "run_…-1"}                     {"asks": [question]}
//     {"do": "allow", "id": …, "arguments": "{…}"?}       {"asks": []}
//     {"do": "deny", "id": …, "reason": "…"?}             or {"error": "…", "code": "denied"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "approve/desk.h"
#include "base/bytes.h"
#include "json/writer.h"

namespace casemate::approve {

inline constexpr Bytes kRequestMax = mib(4);
inline constexpr Bytes kReplyMax = mib(16);

struct Request {
  std::string what;  // "list", "show", "allow", "deny"
  std::string id;
  std::optional<std::string> arguments;  // JSON
  std::string reason;
};

struct Listed {
  Question question;
  std::uint64_t arguments_bytes = 0;
  std::uint64_t left_ms = 0;  // until it is denied for want of an answer
};

// Each without its line end.
std::string write_request(const Request& request);
// Carries out what the line asks; the reply. Thread-safe. The line may be anything.
std::string answer_request(Desk& desk, std::string_view line, Instant at);
// Errors: what the reply says, or invalid.
Result<std::vector<Listed>> read_reply(std::string_view line);
// The members of a question, into an object that has begun.
void write_listed(json::Writer& writer, const Listed& listed);

}  // namespace casemate::approve
