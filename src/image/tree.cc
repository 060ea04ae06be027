#include "image/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "crypto/sha256.h"
#include "image/parallel.h"

namespace casemate::image {
namespace {

constexpr time_t kImageTime = 315532800;  // 1980-01-01, the first that a zip archive can hold
constexpr int kRemoveTriesMax = 16;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// "/usr/bin" → "usr/bin", for the *at calls; the root is ".".
const char* relative(const std::string& path) { return path == "/" ? "." : path.c_str() + 1; }

// The names in a directory, without "." and "..".
Result<std::vector<std::string>> names_in(const sys::Fd& parent, const char* name) {
  sys::Fd fd(::openat(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(std::string("open directory ") + name);
  const Directory directory(::fdopendir(fd.get()));
  if (!directory) return fail_errno("fdopendir");
  (void)fd.release();  // the DIR owns it now
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view found = static_cast<const char*>(entry->d_name);
    if (found != "." && found != "..") names.emplace_back(found);
  }
  if (errno != 0) return fail_errno(std::string("read directory ") + name);
  return names;
}

using Visit = std::function<Result<void>(const std::string& path, const struct stat& status)>;

// Calls `visit` for the root and everything below it, a directory before what it holds.
Result<void> walk(const sys::Fd& root, const Visit& visit) {
  std::vector<std::string> pending = {"/"};
  std::size_t seen = 0;
  while (!pending.empty()) {
    const std::string path = std::move(pending.back());
    pending.pop_back();
    if (++seen > kManifestEntriesMax) return fail(ErrorCode::kExhausted, "the tree has too many entries");
    struct stat status {};
    if (::fstatat(root.get(), relative(path), &status, AT_SYMLINK_NOFOLLOW) < 0)
      return fail_errno("stat " + path);
    TRY(visit(path, status));
    if (!S_ISDIR(status.st_mode)) continue;
    for (const std::string& name : TRY(names_in(root, relative(path)))) {
      std::string child = path == "/" ? "/" + name : path + "/" + name;
      if (!is_image_path(child))
        return fail(ErrorCode::kExhausted, "the path is too long or too deep: " + child);
      pending.push_back(std::move(child));
    }
  }
  return {};
}

Result<std::string> read_link(const sys::Fd& root, const std::string& path) {
  std::array<char, kImagePathMax + 1> buffer{};
  const ssize_t length = ::readlinkat(root.get(), relative(path), buffer.data(), buffer.size());
  if (length < 0) return fail_errno("readlink " + path);
  if (static_cast<std::size_t>(length) > kImagePathMax) {
    return fail(ErrorCode::kExhausted, "the link's target is too long: " + path);
  }
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

Result<std::uint64_t> hash_entry(const sys::Fd& root, Entry& entry) {
  const sys::Fd fd(
      ::openat(root.get(), relative(entry.path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return fail_errno("open " + entry.path);
  entry.content = TRY(crypto::sha256_hex_of(fd.get()));
  return entry.size;
}

// Adds what `status` says of one path; files' content comes later.
Result<void> scan_path(const sys::Fd& root, const std::string& path, const struct stat& status, uid_t owner,
                       Scan& scan) {
  Entry entry;
  entry.path = path;
  entry.mode = status.st_mode & 07777U;
  if (status.st_uid != owner) {
    scan.oddities.push_back({FaultKind::kOwner, path, "belongs to user id " + std::to_string(status.st_uid)});
  }
  if (S_ISDIR(status.st_mode)) {
    entry.type = EntryType::kDirectory;
  } else if (S_ISLNK(status.st_mode)) {
    entry.type = EntryType::kLink;
    entry.mode = 0777;
    entry.content = TRY(read_link(root, path));
  } else if (S_ISREG(status.st_mode)) {
    entry.type = EntryType::kFile;
    entry.size = static_cast<std::uint64_t>(status.st_size);
    if (status.st_nlink != 1) scan.oddities.push_back({FaultKind::kShared, path, "has a second name"});
  } else {
    scan.oddities.push_back({FaultKind::kType, path, "is neither a file, a directory nor a link"});
    return {};
  }
  scan.manifest.entries.push_back(std::move(entry));
  return {};
}

}  // namespace

Result<Scan> scan_tree(const sys::Fd& root, Depth depth, unsigned threads, Progress& progress) {
  struct stat top {};
  if (::fstat(root.get(), &top) < 0) return fail_errno("stat the image's root");
  Scan scan;
  TRY(walk(root, [&](const std::string& path, const struct stat& status) {
    return scan_path(root, path, status, top.st_uid, scan);
  }));
  auto& entries = scan.manifest.entries;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  if (depth == Depth::kQuick) return scan;
  ParallelOptions options{entries.size(), threads, 0};
  for (const Entry& entry : entries) options.total += entry.size;
  TRY(run_parallel(options, progress, [&](std::size_t i) -> Result<std::uint64_t> {
    if (entries[i].type != EntryType::kFile) return 0;
    return hash_entry(root, entries[i]);
  }));
  return scan;
}

Result<void> normalise_tree(const sys::Fd& root) {
  return walk(root, [&](const std::string& path, const struct stat& status) -> Result<void> {
    const char* at = relative(path);
    if (!S_ISLNK(status.st_mode)) {
      const bool executable = S_ISDIR(status.st_mode) || (status.st_mode & 0111U) != 0;
      if (::fchmodat(root.get(), at, executable ? 0755 : 0644, 0) < 0) return fail_errno("chmod " + path);
    }
    const std::array<timespec, 2> times = {{{kImageTime, 0}, {kImageTime, 0}}};
    if (::utimensat(root.get(), at, times.data(), AT_SYMLINK_NOFOLLOW) < 0)
      return fail_errno("utimens " + path);
    return {};
  });
}

Result<void> remove_tree(const sys::Fd& parent, const std::string& name) {
  // Directories are emptied deepest first. A process that is just being killed may still add a file,
  // hence several tries.
  for (int attempt = 0; attempt < kRemoveTriesMax; ++attempt) {
    if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return fail_errno("remove " + name);
    std::vector<std::string> directories = {name};
    for (std::size_t i = 0; i < directories.size(); ++i) {
      const std::string at = directories[i];
      (void)::fchmodat(parent.get(), at.c_str(), 0700, 0);  // unlinkat says whether it mattered
      for (const std::string& child : TRY(names_in(parent, at.c_str()))) {
        std::string path = at + "/" + child;
        if (::unlinkat(parent.get(), path.c_str(), 0) == 0 || errno == ENOENT) continue;
        if (errno != EISDIR && errno != EPERM) return fail_errno("remove " + path);
        directories.push_back(std::move(path));
      }
    }
    bool busy = false;
    for (auto at = directories.rbegin(); at != directories.rend(); ++at) {
      if (::unlinkat(parent.get(), at->c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) continue;
      if (errno != ENOTEMPTY) return fail_errno("remove " + *at);
      busy = true;
    }
    if (!busy) return {};
  }
  return fail(ErrorCode::kUnavailable, "somebody keeps writing to " + name);
}

}  // namespace casemate::image
