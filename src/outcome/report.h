// The outcome as a model reads it: labelled sections of plain text, bounded (DESIGN section 11).
//
//   status: error (exit code 1)
//   --- stdout (last 20 of 212 lines; all: art_51b0) ---
//   processing tenant acme-3 …
//   --- stderr ---
//   --- exception ---
//   KeyError: 'amount'
//   at line 4: total += Decimal(row["amount"])
//   row keys present: ['tenant', 'value', 'currency', 'posted_at']
//   --- limits ---
//   none reached (wall 1.2 of 30 s, memory 41 of 512 MiB)
//
// What the guest wrote cannot forge the frame around it: control characters are gone or shown by their
// number, and a guest's line that looks like a section's title or an artifact gets a backslash.
#pragma once

#include <cstddef>
#include <string>

#include "base/limits.h"
#include "outcome/outcome.h"

namespace casemate::outcome {

struct ReportOptions {
  std::size_t bytes_max = kReportTextMax;  // of the whole report; at least 8 KiB
  std::size_t lines_whole_max = 200;       // a stream with no more lines than this is shown whole, if it fits
  std::size_t lines_last = 20;             // of a longer one, this many
  std::size_t line_bytes_max = 1000;       // of one line; its middle is left out
};

// Pure; reads everything of the outcome but `report`. Each section has a share of the bytes, so that
// what was printed before a failure is always there, however long the rest.
std::string make_report(const Outcome& outcome, const ReportOptions& options = {});

}  // namespace casemate::outcome
