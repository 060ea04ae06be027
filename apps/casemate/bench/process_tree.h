// What /proc says of processes and of memory.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"

namespace casemate::bench {

// Minor faults of a process and all its descendants so far, those that have ended and were waited for
// included: fields minflt and cminflt of proc_pid_stat(5). The growth between two calls is what the tree
// took, when each process that ended between them had its parent in the tree. Errors: system.
Result<std::uint64_t> faults_of_tree(int pid);

// MemAvailable of /proc/meminfo in KiB, once it stays still: the kernel gives back what a box or a process
// had, its network namespace above all, some time after it has ended. Waits `most` for that. Errors: system.
Result<double> available_kib(milliseconds most);

}  // namespace casemate::bench
