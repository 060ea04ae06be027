// `casemate approvals`: answers the calls that wait for a person, from another terminal.
#pragma once

namespace casemate {

// `arguments` as in main(), with "approvals" in argv[0]'s place. Answers the exit code: 0 done, 1 the call
// does not wait (any more), 2 usage.
int approvals_command(int argc, char** argv);

}  // namespace casemate
