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

// Another for each build of this program. Errors: system.
Result<std::string> build_stamp();

// Where what can be made again is kept. Root: /var/cache/casemate; others: $XDG_CACHE_HOME/casemate or
// ~/.cache/casemate. Errors: not_found.
Result<std::string> cache_directory();

}  // namespace casemate
