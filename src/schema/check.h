// Checking a value against a compiled schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "schema/schema.h"

namespace casemate::schema {

struct CheckLimits {
  // One step is one schema or member looked at, 64 bytes compared, or 32 of a pattern's instructions at one
  // byte: 10 to 100 ns, and 700 ns where pattern and text are made for each other.
  std::uint64_t steps_max = 10'000'000;
  std::size_t faults_max = kFaultsMax;  // 0 counts as 1
};

struct Report {
  std::vector<Fault> faults;  // in the order of the document; none: the value is valid
  bool more = false;          // there are others, beyond faults_max
};

// Whether `value` is what the schema asks for, and if not, why: told to whoever wrote the value, who may be a
// model. Pure. Time and memory are bounded by the limits, whatever the two documents are.
// Errors: exhausted (a limit was reached before there was an answer; this is not one), which names it: steps,
// 600 schemas in each other, more levels than json::kReaderDepthMax, an exponent that Decimal does not take.
Result<Report> check(const Schema& schema, const json::Value& value, const CheckLimits& limits = {});

}  // namespace casemate::schema
