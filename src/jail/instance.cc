#include "jail/instance.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "base/limits.h"
#include "base/split.h"
#include "jail/cgroup.h"

namespace casemate::jail {
namespace {

constexpr std::size_t kGroupsFileMax = 64 << 10;
// For all dead instances together; the engine waits twice as long for the warden's first word.
constexpr milliseconds kRecoveryTime{10'000};

std::string lock_name(std::uint32_t number) { return std::to_string(number) + ".lock"; }
std::string quarantine_name(std::uint32_t number) { return std::to_string(number) + ".quarantined"; }
std::string groups_name(std::uint32_t number) { return std::to_string(number) + ".groups"; }

// The lock of an instance, or nothing when somebody holds it.
Result<std::optional<sys::Fd>> try_lock(const sys::Fd& directory, std::uint32_t number) {
  sys::Fd lock = TRY(sys::open_at(directory.get(), lock_name(number), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<sys::Fd>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<sys::Fd>();
  return fail_errno("flock " + lock_name(number));
}

// Numbers that have a `.groups` file: they live, or died without cleaning up.
std::vector<std::uint32_t> recorded_instances(const sys::Fd& directory) {
  std::vector<std::uint32_t> numbers;
  const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(copy), ::closedir);
  if (!listing) return numbers;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    const std::size_t dot = name.find(".groups");
    std::uint32_t number = 0;
    if (dot == std::string_view::npos || name.substr(dot) != ".groups") continue;
    const auto [end, error] = std::from_chars(name.data(), name.data() + dot, number);
    if (error == std::errc{} && end == name.data() + dot && number < kInstancesMax) numbers.push_back(number);
  }
  return numbers;
}

// Removes what a dead instance left, whose lock we hold. True when it is all gone. What an earlier look
// could not remove is looked at again, but not waited for: a leftover must not slow every start down.
bool recover(const sys::Fd& directory, std::uint32_t number, Deadline deadline, std::uint32_t& removed) {
  const auto text = sys::read_file_at(directory.get(), groups_name(number), kGroupsFileMax);
  if (!text) return text.error().errno_value == ENOENT;
  const std::vector<std::string> bases = split(*text, '\n');
  const std::string mark = quarantine_name(number);
  const bool known = ::faccessat(directory.get(), mark.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  const auto count = remove_groups_of_instance(bases, number, known ? Deadline::at(now()) : deadline);
  if (!count) {  // quarantined: the file stays, so the number is not handed out
    (void)sys::open_at(directory.get(), mark, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    return false;
  }
  removed += *count;
  (void)::unlinkat(directory.get(), mark.c_str(), 0);  // ENOENT, mostly
  return ::unlinkat(directory.get(), groups_name(number).c_str(), 0) == 0;
}

// "name" of this uid, from the local /etc/passwd: newuidmap looks there and in NSS; we need it only to
// read /etc/subuid, whose lines may hold the uid as well.
std::string user_name() {
  const auto text = sys::read_file_at(AT_FDCWD, "/etc/passwd", 4 << 20);
  if (!text) return {};
  const std::string uid = std::to_string(::getuid());
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t a = line.find(':');
    const std::size_t b = line.find(':', a + 1);
    const std::size_t c = line.find(':', b + 1);
    if (c != std::string::npos && line.substr(b + 1, c - b - 1) == uid) return line.substr(0, a);
  }
  return {};
}

struct SubordinateRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

std::optional<SubordinateRange> subordinate_range(const char* file) {
  const auto text = sys::read_file_at(AT_FDCWD, file, 4 << 20);
  if (!text) return std::nullopt;
  const std::string name = user_name();
  const std::string uid = std::to_string(::getuid());
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t a = line.find(':');
    const std::size_t b = line.find(':', a + 1);
    if (b == std::string::npos) continue;
    const std::string owner = line.substr(0, a);
    if (owner != uid && (name.empty() || owner != name)) continue;
    SubordinateRange range;
    std::from_chars(line.data() + a + 1, line.data() + b, range.first);
    std::from_chars(line.data() + b + 1, line.data() + line.size(), range.count);
    if (range.first > 0 && range.count >= kIdsPerInstance) return range;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> runtime_directory(const char* xdg_runtime_dir) {
  const uid_t uid = ::geteuid();
  std::string path;
  if (uid == 0) {
    path = "/run/casemate";
  } else if (xdg_runtime_dir != nullptr && xdg_runtime_dir[0] == '/') {
    path = std::string(xdg_runtime_dir) + "/casemate";
  } else {
    path = "/tmp/casemate-" + std::to_string(uid);
  }
  if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) return fail_errno("look at " + path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != uid || (status.st_mode & 077) != 0) {
    return fail(ErrorCode::kDenied,
                path + " is not a directory that is ours alone; remove it or set its mode to 0700");
  }
  return path;
}

Result<Instance> Instance::acquire(const std::string& path) {
  Instance instance;
  instance.directory_ = TRY(sys::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const Deadline deadline = Deadline::in(kRecoveryTime);
  for (const std::uint32_t number : recorded_instances(instance.directory_)) {
    std::optional<sys::Fd> lock = TRY(try_lock(instance.directory_, number));
    if (lock) (void)recover(instance.directory_, number, deadline, instance.recovered_groups_);
  }
  for (std::uint32_t number = 0; number < kInstancesMax; ++number) {
    std::optional<sys::Fd> lock = TRY(try_lock(instance.directory_, number));
    if (!lock) continue;
    // Again under the lock that we keep: an instance may have died since the look above.
    if (!recover(instance.directory_, number, deadline, instance.recovered_groups_)) continue;
    instance.lock_ = std::move(*lock);
    instance.number_ = number;
    return instance;
  }
  return fail(ErrorCode::kExhausted, "all " + std::to_string(kInstancesMax) +
                                         " instance numbers are taken or quarantined (see " + path + ")");
}

Result<void> Instance::record_bases(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += path + "\n";
  // Under another name first, so that a reader never sees half of it.
  const std::string temporary = std::to_string(number_) + ".new";
  const sys::Fd file =
      TRY(sys::open_at(directory_.get(), temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  TRY(sys::write_all(file, text, Deadline::in(milliseconds{5000})));
  if (::renameat(directory_.get(), temporary.c_str(), directory_.get(), groups_name(number_).c_str()) < 0) {
    return fail_errno("record the instance's groups");
  }
  return {};
}

void Instance::release() {
  (void)::unlinkat(directory_.get(), groups_name(number_).c_str(), 0);  // if it stays, recovery looks again
  lock_.reset();
}

Result<IdRange> ids_of_instance(std::uint32_t number, bool single_id) {
  constexpr std::uint32_t kRootBase = 1'879'048'192;
  IdRange ids;
  if (single_id && ::geteuid() != 0) {  // root can always map a range; host root is never mapped
    ids.nest_uid = ::geteuid();
    ids.nest_gid = ::getegid();
    ids.single = true;
    return ids;
  }
  if (::geteuid() == 0) {
    static_assert(
        std::uint64_t{kRootBase} + std::uint64_t{kInstancesMax} * kIdsPerInstanceOfRoot <= 2'147'483'648,
        "the ranges of all instances fit in what nobody else hands out");
    ids.count = kIdsPerInstanceOfRoot - 1;
    ids.nest_uid = ids.nest_gid = kRootBase + number * kIdsPerInstanceOfRoot;
    ids.first_uid = ids.first_gid = ids.nest_uid + 1;
    ids.by_root = true;
    return ids;
  }
  ids.count = kIdsPerInstance - 1;
  const auto uids = subordinate_range("/etc/subuid");
  const auto gids = subordinate_range("/etc/subgid");
  const std::uint64_t needed = std::uint64_t{number + 1} * kIdsPerInstance;
  if (!uids || !gids || uids->count < needed || gids->count < needed) {
    return fail(
        ErrorCode::kDenied,
        "this user has no free subordinate ids, so a box could not have a user of its own: install uidmap "
        "and run `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER`, or accept "
        "the weakening with --weaken single-id");
  }
  ids.nest_uid = ::geteuid();
  ids.nest_gid = ::getegid();
  ids.first_uid = uids->first + number * kIdsPerInstance;
  ids.first_gid = gids->first + number * kIdsPerInstance;
  return ids;
}

}  // namespace casemate::jail
