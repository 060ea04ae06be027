// The files that `--out` asks for.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/place.h"

namespace casemate::bench {

// plot.py, which reads bench.json and leaves bench.svg and bench.png.
extern const char* const kPlotProgram;

// Writes bench.json, and the plot of it, which is drawn in a box: Matplotlib is in the image, and it is a run
// as any other. Files of these names are replaced. Errors: system, denied, internal (the plot could not be
// drawn).
Result<void> write_results(const std::string& directory, const std::string& document, const Place& place);

}  // namespace casemate::bench
