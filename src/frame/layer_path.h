// Where a file that a guest names lies in its layer.
#pragma once

#include <string>

#include "base/result.h"

namespace casemate::frame {

// The path beneath the layer of a product, as a program or a caller names it: relative to /work, or absolute
// below /work, /vol or /tmp. Errors: denied (somewhere else, through "..", or no file at all).
Result<std::string> path_beneath_layer(const std::string& path);

}  // namespace casemate::frame
