#include "audit/disk.h"

#include <unistd.h>

#include <cstdio>

namespace casemate::audit {

Result<void> Disk::append(const sys::Fd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      return fail_errno("write");
    }
  }
  return {};
}

Result<void> Disk::sync(const sys::Fd& file) {
  if (::fdatasync(file.get()) < 0) return fail_errno("fdatasync");
  return {};
}

Result<void> Disk::sync_directory(const sys::Fd& directory) {
  if (::fsync(directory.get()) < 0) return fail_errno("fsync of the directory");
  return {};
}

Result<void> Disk::cut(const sys::Fd& file, std::uint64_t size) {
  if (::ftruncate(file.get(), static_cast<off_t>(size)) < 0) return fail_errno("ftruncate");
  return {};
}

Result<void> Disk::rename(const sys::Fd& directory, const std::string& from, const std::string& to) {
  if (::renameat(directory.get(), from.c_str(), directory.get(), to.c_str()) < 0)
    return fail_errno("rename to " + to);
  return {};
}

Disk& real_disk() {
  static Disk disk;
  return disk;
}

}  // namespace casemate::audit
