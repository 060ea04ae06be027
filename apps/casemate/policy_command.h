// `casemate policy`: checks a policy file, explains its verdicts, shows its tiers.
#pragma once

namespace casemate {

// Answers the exit code: 0, 1 when the file has a mistake, 2 for usage and for a file that cannot be read.
int policy_command(int argc, char** argv);

}  // namespace casemate
