// Spans of time as people write them.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace casemate {

// "30s", "500ms", "2m", "1h", "1.5s", "30" (seconds). Errors: invalid.
Result<milliseconds> parse_duration(std::string_view text);
// "30 s", "1.5 s", "250 ms".
std::string format_duration(milliseconds span);

}  // namespace casemate
