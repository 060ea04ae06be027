// Whether runs may follow one another in one sandbox of the gvisor rung.
#pragma once

namespace casemate::engine {

enum class Sandbox {
  kOwn,  // each run has its own
  // Runs of one tenant, one after the other, each shown to be gone before the next. What is lost: the
  // sandbox's kernel is the same, so a run that broke it has broken it for those after it.
  kShared,
};

}  // namespace casemate::engine
