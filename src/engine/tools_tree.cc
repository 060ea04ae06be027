#include "engine/tools_tree.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "crypto/random.h"
#include "crypto/sha256.h"

namespace casemate::engine {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 8;
constexpr milliseconds kWriteTime{10'000};
constexpr const char* kTools = "/tools";

Error error_of(const std::string& what, const std::error_code& error) {
  return {ErrorCode::kSystem, what + ": " + error.message(), error.value()};
}

// Which files the guest tree has, and of when they are.
Result<std::string> stamp_of(const std::string& tree) {
  std::error_code error;
  std::vector<std::string> entries;
  for (fs::recursive_directory_iterator at(tree, error), end; !error && at != end; at.increment(error)) {
    struct stat status {};
    if (::lstat(at->path().c_str(), &status) < 0) return fail_errno("look at " + at->path().string());
    entries.push_back(at->path().string() + " " + std::to_string(status.st_size) + " " +
                      std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec));
  }
  if (error) return tl::unexpected(error_of("read " + tree, error));
  std::sort(entries.begin(), entries.end());
  std::string text;
  for (const std::string& entry : entries) text += entry + "\n";
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
  // Whatever our umask is: it is the box's user who reads them.
  if (!file || ::fchmod(file.get(), 0444) < 0) return fail_errno("make " + path);
  return sys::write_all(file, text, Deadline::in(kWriteTime));
}

Result<void> write_folder(const catalog::Catalog& catalog, const std::string& top,
                          const std::string& folder) {
  const std::string path = top + (folder.empty() ? "" : "/" + folder);
  if (::mkdir(path.c_str(), 0755) < 0 || ::chmod(path.c_str(), 0755) < 0) return fail_errno("make " + path);
  const auto entries = catalog.list(folder);
  if (!entries) return fail(ErrorCode::kInternal, "the catalog has no folder " + folder);
  for (const catalog::Entry& entry : *entries) {
    const std::string name = folder.empty() ? entry.name : folder + "/" + entry.name;
    if (entry.is_folder) {
      TRY(write_folder(catalog, top, name));
    } else {
      const auto text = catalog.read(name);
      if (!text) return fail(ErrorCode::kInternal, "the catalog has no file " + name);
      TRY(write_file(top + "/" + name, *text));
    }
  }
  return {};
}

// A tree that is there, with a hold on it; an Fd of nothing: it is not. One that is being removed is not.
Result<sys::Fd> hold(const std::string& path) {
  sys::Fd held(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!held && errno == ENOENT) return sys::Fd();
  if (!held) return fail_errno("open " + path);
  if (::flock(held.get(), LOCK_SH) < 0) return fail_errno("lock " + path);
  struct stat opened {};
  struct stat named {};
  if (::fstat(held.get(), &opened) < 0) return fail_errno("fstat " + path);
  if (::lstat(path.c_str(), &named) < 0 || named.st_ino != opened.st_ino) return sys::Fd();
  if (opened.st_uid != ::geteuid())
    return fail(ErrorCode::kDenied, path + " belongs to somebody else: remove it");
  (void)::futimens(held.get(), nullptr);  // it was used now
  return held;
}

// Removes a tree that nobody holds: away from its name first, so that nobody finds a part of it.
void remove_unused(const fs::path& path) {
  const sys::Fd held(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!held || ::flock(held.get(), LOCK_EX | LOCK_NB) < 0) return;
  const fs::path aside = path.parent_path() / (".gone." + crypto::random_hex(8));
  std::error_code error;
  fs::rename(path, aside, error);
  if (!error) fs::remove_all(aside, error);
}

void remove_oldest(const std::string& cache) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> trees;
  for (fs::directory_iterator at(cache, error), end; !error && at != end; at.increment(error)) {
    const auto used = fs::last_write_time(at->path(), error);
    if (!error) trees.emplace_back(used, at->path());
  }
  std::sort(trees.begin(), trees.end());
  for (std::size_t i = 0; i + kTreesKept < trees.size(); ++i) remove_unused(trees[i].second);
}

Result<void> publish(const std::string& guest_tree, const catalog::Catalog& catalog, const std::string& cache,
                     const std::string& path) {
  const std::string made = cache + "/." + crypto::random_hex(8);
  std::error_code error;
  fs::copy(guest_tree, made, fs::copy_options::recursive, error);
  Result<void> done;
  if (error) done = tl::unexpected(error_of("copy " + guest_tree + " to " + made, error));
  if (done) done = write_folder(catalog, made + kTools, "");
  // After a loss of power it is whole, or is not there.
  const sys::Fd top(::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (done && (!top || ::syncfs(top.get()) < 0)) done = fail_errno("sync " + made);
  if (done && ::rename(made.c_str(), path.c_str()) < 0 && errno != EEXIST && errno != ENOTEMPTY)
    done = fail_errno("publish " + path);
  fs::remove_all(made, error);  // what was not published
  return done;
}

}  // namespace

Result<ToolsTree> tools_tree(const std::string& guest_tree, const catalog::Catalog& catalog,
                             std::string_view version, const std::string& cache) {
  const std::string stamp = TRY(stamp_of(guest_tree));
  std::error_code error;
  fs::create_directories(cache, error);
  if (error) return tl::unexpected(error_of("make " + cache, error));
  const std::string path =
      cache + "/" + crypto::sha256_hex(stamp + std::string(1, '\0') + std::string(version)).substr(0, 32);
  for (int i = 0; i < kTries; ++i) {
    sys::Fd held = TRY(hold(path));
    if (held) return ToolsTree{path, std::move(held)};
    TRY(publish(guest_tree, catalog, cache, path));
    remove_oldest(cache);
  }
  return fail(ErrorCode::kSystem, path + " is removed again and again");
}

}  // namespace casemate::engine
