// What a log does to the disk, step by step, so that a test can count the steps and let each of them fail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

// The real disk. A test's derives from it. Thread-safe.
// Errors of all: system, with the kernel's errno.
class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  // Writes all of it at the end of a file that is open with O_APPEND. On an error a part of it may be there.
  virtual Result<void> append(const sys::Fd& file, std::string_view bytes);
  // Returns when the file's bytes and its length are on the disk. fdatasync(2).
  virtual Result<void> sync(const sys::Fd& file);
  // Returns when the directory's names are on the disk. fsync(2).
  virtual Result<void> sync_directory(const sys::Fd& directory);
  virtual Result<void> cut(const sys::Fd& file, std::uint64_t size);
  virtual Result<void> rename(const sys::Fd& directory, const std::string& from, const std::string& to);
};

Disk& real_disk();

}  // namespace casemate::audit
