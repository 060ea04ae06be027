// The /dev of a box as a file system of its own, where the host lets us make one.
#pragma once

#include "base/result.h"
#include "jail/instance.h"
#include "sys/fd.h"

namespace casemate::jail {

// A tmpfs that is mounted nowhere yet: null, zero, full, random and urandom as nodes of its own, the
// links of proc(5)'s descriptors, and an empty directory shm; read-only, and owned by the nest's root.
// Only root in the first user namespace can make device nodes: others bind those of the host.
// Errors: system (mknod is EPERM in a container that has no CAP_MKNOD).
Result<sys::Fd> make_devices(const IdRange& ids);

}  // namespace casemate::jail
