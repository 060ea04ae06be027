// `casemate run`: one program, one fresh box, one outcome.
#pragma once

namespace casemate {

// `arguments` as in main(), with "run" in argv[0]'s place. Answers the exit code: 0 ok, 1 error,
// 2 usage, 3 refused, 4 unavailable, 5 limit, 6 cancelled.
int run_command(int argc, char** argv);

}  // namespace casemate
