// The tree that a box sees, put together by the nest's init in its own mount namespace.
#pragma once

#include "jail/plan.h"

namespace casemate::jail {

// The image and the guest tree, open in the mount namespace of this process.
struct Sources {
  int image = -1;
  int guest = -1;
};

// As the user that the warden is, before the change to the nest's root: whose directories they may be in.
// 0 or the errno; ESTALE when what is there is not what the warden was given.
int open_sources(const SourceTrees& trees, Sources& sources);

// As the nest's root: the root, /dev, the layer, /proc; pivots into it and lets go of the host's tree.
// Closes the sources. Each step that fails is told over the link and ends the process.
void build_tree(const Plan& plan, const Sources& sources);

// The tree of a nest: the zygote's root below /root, and beside it what the trees of slots are made from:
// the image, the guest tree and, where slots do not get their own, the devices.
void build_nest_tree(const Plan& plan, const Sources& sources);

// The tree of a slot, as build_tree() makes it, from what the nest keeps. In a mount namespace of its own.
void build_slot_tree(const Plan& plan);

}  // namespace casemate::jail
