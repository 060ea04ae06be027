// The writers of an audit directory, in a chain of their own: so a log that was removed is missed.
#pragma once

#include <vector>

#include "audit/disk.h"
#include "audit/line.h"
#include "audit/record.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

// Puts a writer on the manifest, unless it is there; on the disk when it returns. Waits for another process
// that does the same. Errors: unavailable, system, invalid (the manifest's end is damaged).
Result<void> list_writer(const sys::Fd& audit, const ListedWriter& writer, Disk& disk, Time at);

// In the order in which they were listed; none when there is no manifest. Checks forms, not the chain: verify
// does. Errors: system, invalid, exhausted (more than kAuditWritersMax).
Result<std::vector<ListedWriter>> listed_writers(const sys::Fd& audit);

}  // namespace casemate::audit
