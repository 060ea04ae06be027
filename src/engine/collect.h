// What a run leaves: its output, what its runner told at the end, its products. Each as far as policy lets
// it.
#pragma once

#include "engine/live_run.h"
#include "engine/products.h"
#include "engine/request.h"
#include "outcome/decide.h"
#include "outcome/outcome.h"

namespace casemate::engine {

// What the program printed is never lost, whatever became of its box.
void take_output(const LiveRun& run, outcome::Outcome& result);

// The value of its last expression.
void take_result(LiveRun& run, outcome::Outcome& result);

// How it ended, its exception included.
void take_ending(LiveRun& run, const outcome::Observed& observed, outcome::Outcome& result);

// Copies what the program declared, what the request named and what the captures spooled.
void collect(const Request& request, LiveRun& run, Products& products, const Products::OpenInLayer& open,
             outcome::Outcome& result, outcome::Observed& observed);

}  // namespace casemate::engine
