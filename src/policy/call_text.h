// A call as people write it in a file's tests and on a command line.
//
//     call  = name "(" [ json-object | argument { "," argument } ] ")"
//     argument = ( name | string ) "=" value
//     value = string | number | "true" | "false" | "null" | "[" [ value { "," value } ] "]"
//           | "{" [ argument { "," argument } ] "}"
//
// `mail.send(to='a@example.com', amount=12.50)`; or with JSON: `mail.send({"to": "a@example.com"})`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace casemate::policy {

struct CallText {
  std::string capability;
  json::Value arguments;  // an object
};

// Errors: invalid, exhausted (kPatternMax bytes, kConditionDepthMax levels); then `fault_offset` is where in
// `text`, in bytes.
Result<CallText> parse_call(std::string_view text, std::size_t& fault_offset);

}  // namespace casemate::policy
