// `casemate reconcile`: whether the audit log and what others saw agree.
#pragma once

namespace casemate {

// `arguments` as in main(), with "reconcile" in argv[0]'s place.
// Answers the exit code: 0 (all of it), 1 (something is missing or the log is at fault), 2 (usage), 4
// (something named cannot be read).
int reconcile_command(int argc, char** argv);

}  // namespace casemate
