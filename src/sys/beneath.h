// Opening what a guest may have shaped: never outside one directory, never through a link.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::sys {

// Opens `path` below the directory with openat2(2): RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS and
// NO_XDEV, and O_NONBLOCK, O_NOCTTY, O_NOFOLLOW, so that neither a link, nor a mount, nor a pipe that
// nobody writes to does anything to us. Linux 5.6 or later.
// Errors: invalid (empty, absolute, or with a NUL byte), not_found, denied (it leads outside, or
// through a link), system.
Result<Fd> open_beneath(const Fd& directory, const std::string& path, int flags);

struct RegularFile {
  Fd fd;
  std::uint64_t size = 0;  // as the file claims now; copy with a budget all the same
};

// The same for reading, and it must be a regular file with exactly one link: a second name could be
// a file that somebody else owns, and a pipe or device would block or act.
// Errors: as above; denied also for a kind of file that is not taken.
Result<RegularFile> open_regular_beneath(const Fd& directory, const std::string& path);

// Whether `path` is, or leads to, a regular file for a process whose root is `root`: each link on the way is
// followed inside it. Linux 5.6 or later.
bool has_program(const std::string& root, const std::string& path);

}  // namespace casemate::sys
