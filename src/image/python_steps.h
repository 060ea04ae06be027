// The Python programs that finish an image: they run in it, with its own interpreter.
#pragma once

#include <vector>

#include "image/recipe.h"

namespace casemate::image {

// ldconfig, byte-compilation, matplotlib's list of fonts, the facts for `about`, and a first use of
// every part that people expect to work.
std::vector<Step> python_steps();

}  // namespace casemate::image
