// Whether an audit directory is what was written: every chain from its first record to its last, the
// manifest, and the index held against them. Reads everything once, in bounded memory; changes nothing.
//
// It finds damage, and changes by whoever cannot write all of it. Who can write all of it can make another
// log that is whole in itself: that shows only against a head that was kept elsewhere. docs/audit.md says
// more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/chain_check.h"
#include "audit/line.h"
#include "base/result.h"

namespace casemate::audit {

// What was found of one chain.
struct ChainReport {
  std::string name;      // the writer's; "manifest"
  std::string instance;  // empty: it has no first header
  std::uint32_t segments = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Position head;        // the last record before the end or the fault
  bool live = false;    // somebody writes it now
  bool closed = false;  // its last record says so. Neither live nor closed: a crash, or its end was cut off
  std::uint64_t torn_tails = 0;  // crashes that left a part of a record, which was cut
  std::uint64_t indexed = 0;     // records that the index has of it
  std::optional<Fault> fault;    // the first
};

struct VerifyReport {
  std::vector<ChainReport> chains;  // the manifest, then by name
  // The first of each chain, in their order; then what belongs to none.
  std::vector<Fault> faults;
  std::vector<std::string> notes;  // what is no fault, but should be known; one line each
  bool ok() const { return faults.empty(); }
};

struct VerifyOptions {
  // Digests of records, kept elsewhere, that must be there; at most kAuditHeadsMax, 64 hex digits each.
  std::vector<std::string> heads;
};

// Errors: not_found (there is no such directory, or no log in it), invalid (options), system.
Result<VerifyReport> verify(const std::string& directory, const VerifyOptions& options);

}  // namespace casemate::audit
