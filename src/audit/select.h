// Records that match, out of all the logs of an audit directory.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "audit/index.h"
#include "base/result.h"

namespace casemate::audit {

// Called with the writer's name and the line as it stands in the log; the views hold for the call.
using EachRecord = std::function<Result<void>(const std::string& writer, std::string_view line)>;

// What matches, in the order of time: the index, which is brought up to date first, says where it is, and
// each line is held against the digest that the index has of it. Where the index cannot be written, and for a
// query that asks for everything, all segments are read instead, one writer after the other. Stops at the
// first error of `each`. Errors: not_found (there is no log), invalid (a log or the index is at fault: verify
// says more), unavailable, system.
Result<void> select(const std::string& directory, const Query& query, const EachRecord& each);

}  // namespace casemate::audit
