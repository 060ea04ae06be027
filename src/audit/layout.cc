#include "audit/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/limits.h"

namespace casemate::audit {
namespace {

constexpr const char* kLockName = "lock";
constexpr std::size_t kNameMax = 64;
constexpr milliseconds kLockPause{2};

tl::unexpected<Error> unavailable(const Error& error) {
  return fail(ErrorCode::kUnavailable, "audit log: " + error.message);
}

Result<sys::Fd> open_directory(int parent, const std::string& name) {
  return sys::open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

// Makes the directory if it is missing. Its name is put on the disk also when it was there: who made it may
// have died before that.
Result<sys::Fd> make_directory(const sys::Fd& parent, const std::string& name, Disk& disk) {
  if (::mkdirat(parent.get(), name.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + name);
  sys::Fd made = TRY(open_directory(parent.get(), name));
  TRY(disk.sync_directory(parent));
  return made;
}

// The directories on the way, as mkdir -p makes them.
Result<void> make_parents(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    if (::mkdir(path.substr(0, at).c_str(), 0755) < 0 && errno != EEXIST)
      return fail_errno("make " + path.substr(0, at));
  }
  return {};
}

Result<void> check_owner(const sys::Fd& directory, const std::string& path) {
  struct stat status {};
  if (::fstat(directory.get(), &status) < 0) return fail_errno("fstat " + path);
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & 0022U) != 0) {
    return fail(ErrorCode::kUnavailable,
                path + " can be written by others: remove it, or: chmod go-w " + path);
  }
  return {};
}

Result<sys::Fd> make_all(const std::string& path, Disk& disk) {
  TRY(make_parents(path));
  const std::size_t slash = path.rfind('/');
  const std::string above =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const sys::Fd parent = TRY(sys::open_at(AT_FDCWD, above, O_RDONLY | O_DIRECTORY));
  sys::Fd audit = TRY(make_directory(parent, path.substr(slash == std::string::npos ? 0 : slash + 1), disk));
  TRY(check_owner(audit, path));
  TRY(make_directory(audit, kWritersName, disk));
  return audit;
}

struct flock whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

}  // namespace

bool is_writer_name(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kNameMax && is_plain(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_plain(c) || c == '_' || c == '.' || c == '-'; });
}

Result<sys::Fd> make_audit_directory(const std::string& path, Disk& disk) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  auto made = make_all(trimmed, disk);
  if (!made) return unavailable(made.error());
  return made;
}

Result<sys::Fd> open_audit_directory(const std::string& path) {
  auto opened = sys::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!opened && opened.error().errno_value == ENOENT)
    return fail(ErrorCode::kNotFound, "there is no audit log in " + path);
  return opened;
}

std::string writer_path(std::string_view writer) {
  return std::string(kWritersName) + "/" + std::string(writer);
}

Result<sys::Fd> make_chain_directory(const sys::Fd& audit, const std::string& name, Disk& disk) {
  const std::size_t slash = name.find('/');
  auto made = [&]() -> Result<sys::Fd> {
    if (slash == std::string::npos) return make_directory(audit, name, disk);
    const sys::Fd above = TRY(open_directory(audit.get(), name.substr(0, slash)));
    return make_directory(above, name.substr(slash + 1), disk);
  }();
  if (!made) return unavailable(made.error());
  return made;
}

Result<sys::Fd> open_chain_directory(const sys::Fd& audit, const std::string& name) {
  return open_directory(audit.get(), name);
}

Result<std::vector<std::string>> writer_names(const sys::Fd& audit) {
  std::vector<std::string> names;
  auto opened = open_directory(audit.get(), kWritersName);
  if (!opened && opened.error().errno_value == ENOENT) return names;
  sys::Fd fd = TRY(std::move(opened));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd.get()), ::closedir);
  if (!listing) return fail_errno("fdopendir");
  (void)fd.release();  // the DIR owns it now
  errno = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (!is_writer_name(name)) continue;
    if (names.size() == kAuditWritersMax) {
      return fail(ErrorCode::kExhausted,
                  "an audit directory has more than " + std::to_string(kAuditWritersMax) + " writers");
    }
    names.emplace_back(name);
  }
  if (errno != 0) return fail_errno("read the directory of writers");
  std::sort(names.begin(), names.end());
  return names;
}

Result<sys::Fd> lock_chain(const sys::Fd& directory, Deadline deadline) {
  auto opened = sys::open_at(directory.get(), kLockName, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!opened) return unavailable(opened.error());
  for (;;) {
    struct flock range = whole_file(F_WRLCK);
    if (::fcntl(opened->get(), F_OFD_SETLK, &range) == 0) return opened;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return unavailable(fail_errno("lock").value());
    if (deadline.passed(now()))
      return tl::unexpected(Error{ErrorCode::kUnavailable, "audit log: another process writes it", EBUSY});
    // The waiting form of this lock has no deadline. Whoever holds a lock that is waited for is done in
    // milliseconds.
    std::this_thread::sleep_for(kLockPause);
  }
}

bool is_chain_locked(const sys::Fd& directory) {
  const auto lock = sys::open_at(directory.get(), kLockName, O_RDONLY | O_NOFOLLOW);
  struct flock range = whole_file(F_WRLCK);
  return lock && ::fcntl(lock->get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace casemate::audit
