// `casemate tap`: writes down what a connector's program is asked, and knows nothing of policy.
#pragma once

namespace casemate {

// `arguments` as in main(), with "tap" in argv[0]'s place. Answers the program's own exit code, 128 and its
// signal, 2 (usage) or 4 (it could not be started, or what it is asked could not be written down).
int tap_command(int argc, char** argv);

}  // namespace casemate
