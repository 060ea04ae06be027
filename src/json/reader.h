// A strict, bounded JSON reader (RFC 8259) for text that nobody vouches for.
//
// Where readers differ, and two of them could see two documents in one text, this one refuses: a key that
// comes twice in one object, bytes that are not UTF-8, half of a surrogate pair (as \ud800 too), a byte
// order mark, anything but white space after the value. Comments, trailing commas, NaN and Infinity are
// not JSON. Numbers keep their text, so that nothing is rounded before somebody asks (value.h).
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace casemate::json {

// The writer's own bound, so that what was read can be written.
inline constexpr std::size_t kReaderDepthMax = 64;

struct ReadLimits {
  std::size_t bytes_max = std::size_t{1} << 20;  // of the text
  std::size_t depth_max = kReaderDepthMax;       // arrays and objects in each other; at most kReaderDepthMax
  std::size_t values_max = 100'000;  // values and keys together; each takes some 40 bytes beside its text
};

// Reads one value. Does not recurse, and takes time n log n.
// Errors: invalid (it is not such JSON), exhausted (a limit). Both begin with the place: "line 3, column
// 14: …", counted from 1, the column in bytes.
Result<Value> read(std::string_view text, const ReadLimits& limits = {});

}  // namespace casemate::json
