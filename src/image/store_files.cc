#include "image/store_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "image/manifest.h"

namespace casemate::image {
namespace {

constexpr milliseconds kFileWriteSpan{60'000};

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) < 0) {
    if (errno == EEXIST) return {};
    const Error error = fail_errno("cannot make " + path).value();
    return fail(ErrorCode::kUnavailable, error.message);
  }
  // Whatever the umask says: a box that runs as another user must be able to come this far.
  if (::chmod(path.c_str(), 0755) < 0) return fail_errno("chmod " + path);
  return {};
}

}  // namespace

std::string directory_of(std::string_view digest) {
  return "sha256/" + std::string(digest.substr(std::string_view("sha256:").size()));
}

Result<void> make_store(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    TRY(make_directory(path.substr(0, end)));
  }
  for (const char* below : {"", "/sha256", "/names", "/tmp"}) TRY(make_directory(path + below));
  return {};
}

Result<void> check_safe(const struct stat& status, const std::string& shown) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fail(ErrorCode::kUnavailable, shown + " belongs to user id " + std::to_string(status.st_uid) +
                                             ", not to you or root: it is not used");
  }
  if (!S_ISLNK(status.st_mode) && (status.st_mode & 0022U) != 0) {
    return fail(
        ErrorCode::kUnavailable,
        shown + " can be written by others: it is not used; if you trust what it holds: chmod go-w " + shown);
  }
  return {};
}

Result<void> check_safe_directory(const struct stat& status, const std::string& shown) {
  if (!S_ISDIR(status.st_mode)) return fail(ErrorCode::kUnavailable, shown + " is not a directory");
  return check_safe(status, shown);
}

Result<void> check_safe(int directory, const std::string& name, const std::string& shown) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0)) <
      0) {
    return fail(ErrorCode::kUnavailable, fail_errno(shown).value().message);
  }
  if (S_ISLNK(status.st_mode)) return fail(ErrorCode::kUnavailable, shown + " is a link");
  return check_safe(status, shown);
}

Result<void> names_below(const sys::Fd& parent, const std::string& name, std::size_t most,
                         std::vector<std::string>& names) {
  sys::Fd fd = TRY(sys::open_at(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), ::closedir);
  if (!directory) return fail_errno("fdopendir");
  (void)fd.release();  // the DIR owns it now
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view found = static_cast<const char*>(entry->d_name);
    if (found == "." || found == "..") continue;
    if (names.size() == most) return fail(ErrorCode::kExhausted, name + " holds too many entries");
    names.emplace_back(found);
  }
  if (errno != 0) return fail_errno("read directory " + name);
  std::sort(names.begin(), names.end());
  return {};
}

Result<void> write_new_file(const sys::Fd& parent, const std::string& name, std::string_view content) {
  const sys::Fd fd = TRY(sys::open_at(parent.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
  TRY(sys::write_all(fd, content, Deadline::in(kFileWriteSpan)));
  if (::fchmod(fd.get(), 0444) < 0) return fail_errno("chmod " + name);
  if (::fsync(fd.get()) < 0) return fail_errno("fsync " + name);
  return {};
}

Result<void> sync_directory(const sys::Fd& parent, const std::string& name) {
  const sys::Fd fd = TRY(sys::open_at(parent.get(), name, O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) < 0) return fail_errno("fsync " + name);
  return {};
}

}  // namespace casemate::image
