// Regular expressions as JSON Schema means them, respelled for RE2.
//
// JSON Schema means ECMA-262's, with Unicode semantics (draft 2020-12, 6.4). RE2 reads a similar language and
// takes linear time. Where the two read the same characters differently ("." and line ends, \s, [] and [^],
// \u), this writes what RE2 needs; what RE2 cannot do (looking around, references back) and what only RE2 can
// do ((?i), \A, \Q, [[:alpha:]]) is an error, so that no pattern means something else than its author thinks.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace casemate::schema {

// `pattern` must be valid UTF-8. The result is at most some 200 times as long.
// Errors: invalid (with the place: "at byte 4: …", counted from 0). What is left to RE2 to find: brackets
// that do not match, repetitions of nothing, ranges from high to low.
Result<std::string> respell_for_re2(std::string_view pattern);

}  // namespace casemate::schema
