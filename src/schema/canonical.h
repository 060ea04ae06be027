// Equality of JSON values, and copies of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "json/value.h"

namespace casemate::schema {

// A text that two values share exactly when JSON Schema calls them equal (draft 2020-12, core 4.2.2): numbers
// by what they are worth (1.0 equals 1), objects whatever the order of their members, nothing by its kind
// alone (0 is not false). For comparing and sorting, not for reading. Errors: exhausted (a number that
// Decimal does not take, more than json::kReaderDepthMax levels). `steps` grows by what it cost; past
// `steps_max` it is exhausted too.
Result<std::string> canonical(const json::Value& value, std::uint64_t& steps, std::uint64_t steps_max);

// Errors: exhausted (more than `values_max` values and keys, more than json::kReaderDepthMax levels).
Result<json::Value> copy(const json::Value& value, std::size_t values_max);

}  // namespace casemate::schema
