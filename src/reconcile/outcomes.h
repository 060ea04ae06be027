// Outcomes as `casemate run --json` prints them, and the artifacts that they tell of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "reconcile/json_lines.h"
#include "reconcile/reconcile.h"

namespace casemate::reconcile {

inline constexpr std::size_t kOutcomeLineMax = std::size_t{64} << 20;

// Adds the outcome of one line and its artifacts; a stored one is looked at on the disk, where its relative
// name is meant from here. A line that is no outcome is an offender. Errors: unavailable.
Result<void> add_outcome(const SourceLine& line, Reconciler& to);

// Why a file is not what was stored, as far as it goes; empty: it is.
std::string fault_of_stored(const std::string& path, std::uint64_t bytes, std::string_view sha256);

}  // namespace casemate::reconcile
