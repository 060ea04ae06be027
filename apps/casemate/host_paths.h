// Where the parts of an uninstalled or installed casemate are, seen from this program.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/run.h"

namespace casemate {

// The directory of this program, where the others are too. Errors: system.
Result<std::string> programs_folder();

// DIR/casemate-warden and DIR/../share/casemate/guest, DIR being where this program is. In a test build the
// guest tree is guest_test_hooks.
// Errors: unavailable (a part is missing: the message names it).
Result<engine::Paths> find_parts(const char* warden_name);

}  // namespace casemate
