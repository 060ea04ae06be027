// A nest that serves slots: its init after the nest's tree is there.
#pragma once

#include "jail/nest_tree.h"
#include "jail/plan.h"

namespace casemate::jail {

// Builds the nest's tree, starts the zygote, and then makes the inits of slots on request and tells the
// warden of every process that ended. Ends with the link. Never returns.
[[noreturn]] void serve_slots(const Plan& plan, const Sources& sources);

}  // namespace casemate::jail
