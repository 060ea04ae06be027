// What runs after the clone: the init of a box or of a nest (PID 1 of its pid namespace) and, forked from
// it, the process that becomes the guest or the zygote. Here nothing allocates, locks, logs or throws; each
// step that fails is told over the link as (stage, errno) and the process exits. See nest.cc for the order.
#pragma once

#include <cstdint>

#include "jail/plan.h"

namespace casemate::jail {

// The body of the nest's init. Never returns.
[[noreturn]] void run_nest_init(const Plan& plan, const SourceTrees& trees);

// Gives up everything that a guest must not have, in an order that matters. Returns as the guest.
void drop_to_guest(const Plan& plan);
// The body of the guest's process, up to execve. Never returns.
[[noreturn]] void become_guest(const Plan& plan);

// Executes the plan's program with its environment. The errno; does not return when it succeeds.
int execute(const Plan& plan);

// Tells the warden and exits.
[[noreturn]] void setup_failed(const Plan& plan, Stage stage, int errno_value);

// Restricts this thread and its descendants to: reading and executing below `/`, writing below `/vol`,
// `/tmp` and `/dev`'s files. Handles every right that the ABI knows, and TCP and scopes where it knows
// them. 0 or the errno. landlock(7).
int restrict_files(std::uint32_t abi);
// The Landlock ABI of this kernel; 0 when it has none.
std::uint32_t landlock_abi();

// Clears the bounding set (needs CAP_SETPCAP). 0 or the errno.
int drop_bounding_set();
// Clears permitted, effective, inheritable and ambient, and locks securebits so that a change of user
// id never gives anything back. 0 or the errno. Without the lock (test builds with the leaf namespace
// off, where nothing is left to set securebits with) only the sets are cleared.
int drop_all_capabilities(bool lock_securebits = true);

}  // namespace casemate::jail
