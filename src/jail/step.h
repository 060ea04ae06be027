// One step of set-up after the clone: run, or told over the link as what failed.
#pragma once

#include <cerrno>

#include "jail/child.h"

namespace casemate::jail {

// 0, or errno after a call that answers -1.
inline int errno_of(long result) { return result < 0 ? errno : 0; }

// Runs one step: `action` answers 0 or an errno. Does not return when it fails.
template <typename Action>
void step(const Plan& plan, Stage stage, Action action) {
  const int failed = fails_here(plan, stage) ? EIO : action();
  if (failed != 0) setup_failed(plan, stage, failed);
}

// The same step, left out when a test build has the wall off.
template <typename Action>
void step_if(const Plan& plan, Wall wall, Stage stage, Action action) {
  if (wall_on(plan, wall)) step(plan, stage, action);
}

}  // namespace casemate::jail
