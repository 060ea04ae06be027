// From what the engine asked for to the plan of a box: every value that the steps of set-up need.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "frame/warden.h"
#include "jail/box.h"
#include "jail/plan.h"
#include "sys/fd.h"

namespace casemate::jail {

// Fills everything but the descriptors that are made later (link, devices, task files). `fds` must outlive
// it. Errors: invalid (a limit of zero, strings cut short).
Result<void> fill_plan(const Host& host, const frame::MakeBox& spec, const BoxFds& fds, std::uint32_t slot,
                       Plan& plan);

// Where the two trees are. Errors: invalid (one is no directory, a path is too long), system.
Result<SourceTrees> find_sources(const sys::Fd& image, const sys::Fd& guest);

// The ids of the nest: the host's, but in a test build with that wall off.
IdRange nest_ids(const Host& host, const Plan& plan);

// What a box's guest is on the host.
std::uint32_t outside_id(const IdRange& ids, uid_t slot_id);

// The output of a box is two pipes, which as root we give to the box's user.
// Errors: invalid (they are something else), system.
Result<void> take_pipes(const BoxFds& fds, const IdRange& ids, uid_t slot_id);

// Devices of the box's own. Nothing where the host does not let us make them, which an ordinary user, and
// root in a container, may not: the box has the host's then, and its walls say so.
Result<sys::Fd> own_devices(const IdRange& ids, const Plan& plan);

// CLONE_NEW* for the nest.
unsigned long namespace_flags(const Plan& plan);

// What is true of this box; a weakening shows as a missing bit.
std::uint64_t walls_on(const Host& host, const Plan& plan);

}  // namespace casemate::jail
