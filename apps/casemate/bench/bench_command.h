// `casemate bench`: what a run costs here, against the same program started bare.
#pragma once

namespace casemate {

// The exit code. argv[0] is "bench".
int bench_command(int argc, char** argv);

}  // namespace casemate
