// The whole of casemate-http: calls come in as lines, endings go out as lines (connect/exec_protocol.h).
#pragma once

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::http {

// Serves until `in` ends; calls that are then under way are given up. Its first line is a configuration
// (config.h). When this process could not be confined, it speaks to nobody, and each call is told so.
// Errors: invalid (what comes in is not what our own caller says), system.
Result<void> serve(const sys::Fd& in, const sys::Fd& out, const Result<void>& confined);

}  // namespace casemate::http
