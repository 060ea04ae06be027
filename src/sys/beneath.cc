#include "sys/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace casemate::sys {

Result<Fd> open_beneath(const Fd& directory, const std::string& path, int flags) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "a path below the layer must be relative and not empty");
  }
  open_how how{};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                         O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof(how))));
  if (fd) return fd;
  switch (errno) {
    case ENOENT:
    case ENOTDIR: return fail(ErrorCode::kNotFound, "no such file");
    case ELOOP: return fail(ErrorCode::kDenied, "it is, or leads through, a symbolic link");
    case EXDEV: return fail(ErrorCode::kDenied, "it leads out of the layer");
    case EACCES: return fail(ErrorCode::kDenied, "its mode forbids reading");
    case ENXIO: return fail(ErrorCode::kDenied, "it is a socket or a device, not a regular file");
    default: return fail_errno("open below the layer");
  }
}

Result<RegularFile> open_regular_beneath(const Fd& directory, const std::string& path) {
  RegularFile file;
  file.fd = TRY(open_beneath(directory, path, O_RDONLY));
  struct stat status {};
  if (::fstat(file.fd.get(), &status) < 0) return fail_errno("fstat");
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kDenied, S_ISDIR(status.st_mode)    ? "it is a directory, not a regular file"
                                    : S_ISFIFO(status.st_mode) ? "it is a named pipe, not a regular file"
                                                               : "it is not a regular file");
  }
  if (status.st_nlink != 1) return fail(ErrorCode::kDenied, "it has more than one name (hard links)");
  file.size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

bool has_program(const std::string& root, const std::string& path) {
  const Fd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const Fd file(static_cast<int>(::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof(how))));
  // What cannot be looked at may be there all the same.
  if (!file) return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
  struct stat status {};
  return ::fstat(file.get(), &status) < 0 || S_ISREG(status.st_mode);
}

}  // namespace casemate::sys
