// The zygote of a sandbox that runs share: see shared.cc.
#pragma once

#include <cstdint>

namespace casemate::guest {

// Forks a guest for each kFork or kForkWarm on `link`, one at a time, and ends it when kClean comes. Returns
// in a guest alone, true when it is to rehearse, with its descriptors in place: 0 to 2 are its program's, 3
// is its control socket. `disk`: bytes of each file system that a guest can write to. `before_fork` and its
// fellows are what Python has done around a fork.
struct ForkHooks {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
};
bool serve_shared(int link, std::uint64_t disk, const ForkHooks& hooks);

}  // namespace casemate::guest
