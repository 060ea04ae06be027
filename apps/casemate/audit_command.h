// `casemate audit`: look at the audit log, follow it, verify it, export it.
#pragma once

namespace casemate {

// `arguments` as in main(), with "audit" in argv[0]'s place.
// Answers the exit code: 0, 1 (verify found a fault), 2 (usage) or 4 (unavailable).
int audit_command(int argc, char** argv);

}  // namespace casemate
