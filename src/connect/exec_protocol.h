// What a connector's program is told, and what it answers: one JSON object a line. Pure.
//
//     → {"id":7,"capability":"ledger.read","run":"run_…","idempotency_key":"run_…-1","time_left_ms":30000,
//        "arguments":{"tenant":"acme"}}
//     ← {"id":7,"result":[…]}               what came of it
//       {"id":7,"error":"no such tenant"}   it failed, and may have done something
//       {"id":7,"not_done":"it is closed"}  it was not begun: nothing was done
//       {"id":7,"unknown":"no answer"}      nobody knows what was done
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "bridge/connector.h"

namespace casemate::connect {

// With its end of line. `left` is how long an answer is waited for.
std::string line_of(std::uint64_t number, const bridge::ConnectorCall& call, milliseconds left);

struct ExecAnswer {
  std::uint64_t number = 0;
  bridge::ConnectorAnswer answer;
};

// Errors: invalid (it is no answer).
Result<ExecAnswer> parse_answer(std::string_view line);

}  // namespace casemate::connect
