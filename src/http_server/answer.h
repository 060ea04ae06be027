// What a handler answers with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http_server/refusal.h"
#include "http_server/request.h"
#include "http_server/writer.h"

namespace casemate::http_server {

struct Answer {
  int status = 200;
  // Content-Type and the like. Date, Connection, Content-Length, Transfer-Encoding and Keep-Alive are the
  // server's own: an answer that names one of them, or a field that cannot be sent, becomes a 500.
  std::vector<Field> fields;
  std::string body;
  // When it is given, it writes the body piece by piece and `body` is not sent. Called on the connection's
  // thread once the head is out, while the request that was handled lives, but for its body; not called for
  // HEAD. When it returns, the answer ends. docs/http.md: streams.
  std::function<void(BodyWriter&)> stream;
  // The connection ends with this answer.
  bool last = false;
};

Answer json_answer(int status, std::string body);

// An answer that says what went wrong: application/problem+json, RFC 9457.
struct Problem {
  int status = 500;
  std::string code;    // for programs, in small letters and underscores; also the end of the problem's type
  std::string detail;  // for people: one line; cut at kProblemDetailMax bytes, controls escaped
  std::string field;   // of the request's JSON, if it is about one: "limits.memory"
  std::optional<milliseconds> retry_after;
};
// {"type":"urn:casemate:problem:CODE","title":…,"status":…,"code":…,"detail":…} and, where they are known,
// "field" and "retry_after_ms"; the field Retry-After in whole seconds, rounded up.
Answer problem(const Problem& about);
Answer problem(const Refusal& refusal);

// The table of DESIGN's nine codes: what HTTP calls each. What exists and ended badly is not an error, but a
// 200.
int status_of(ErrorCode code);
// An error as an answer; `code` is its name (error_code_name). exhausted and unavailable come with
// `retry_after`, a second if none is given. Of system and internal the message is kept back: it is about us
// and not about the request, and belongs in the log of whoever calls this.
Answer problem_of(const Error& error, std::optional<milliseconds> retry_after = std::nullopt);

// Whether it can be sent as it is. Errors: internal (it is a bug of the handler's).
Result<void> check_answer(const Answer& answer);

// "Tue, 01 Dec 2026 01:02:03 GMT" (RFC 9110, section 5.6.7), of seconds since 1970.
std::string http_date(std::int64_t seconds);

}  // namespace casemate::http_server
