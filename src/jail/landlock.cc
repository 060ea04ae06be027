#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "jail/child.h"

namespace casemate::jail {
namespace {

// The rights by ABI, by number: Debian 12's headers know only ABI 2. landlock(7) and
// include/uapi/linux/landlock.h.
constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3,
                        kRemoveDir = 1 << 4, kRemoveFile = 1 << 5, kMakeDir = 1 << 7, kMakeReg = 1 << 8,
                        kMakeSock = 1 << 9, kMakeFifo = 1 << 10, kMakeSym = 1 << 12,
                        kRefer = 1 << 13,  // ABI 2
    kTruncate = 1 << 14,                   // ABI 3
    kIoctlDev = 1 << 15;                   // ABI 5
constexpr std::uint64_t kAllOfAbi1 = (1 << 13) - 1;
constexpr std::uint64_t kScopeAbstractSockets = 1 << 0, kScopeSignals = 1 << 1;  // ABI 6

struct RulesetAttributes {
  std::uint64_t handled_fs;
  std::uint64_t handled_net;
  std::uint64_t scoped;
};

std::uint64_t handled_rights(std::uint32_t abi) {
  std::uint64_t rights = kAllOfAbi1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}

int add_path(int ruleset, const char* path, std::uint64_t rights) {
  const int directory = ::open(path, O_PATH | O_CLOEXEC);
  if (directory < 0) return errno;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = directory;
  const long done = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  const int saved = done < 0 ? errno : 0;
  (void)::close(directory);
  return saved;
}

}  // namespace

std::uint32_t landlock_abi() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U /* LANDLOCK_CREATE_RULESET_VERSION */);
  return abi > 0 ? static_cast<std::uint32_t>(abi) : 0;
}

int restrict_files(std::uint32_t abi) {
  if (abi == 0) return ENOSYS;
  RulesetAttributes attributes{};
  attributes.handled_fs = handled_rights(abi);
  // TCP is left to the network namespace: a program may serve and call itself on lo (it has no route).
  // Signals and abstract sockets end at the box: nobody outside it is in reach even if a namespace fails.
  attributes.scoped = abi >= 6 ? kScopeAbstractSockets | kScopeSignals : 0;
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) return errno;

  const std::uint64_t handled = attributes.handled_fs;
  const std::uint64_t look = kExecute | kReadFile | kReadDir;
  // No devices and no set-id: MAKE_CHAR and MAKE_BLOCK are in no rule.
  const std::uint64_t change = (look | kWriteFile | kRemoveDir | kRemoveFile | kMakeDir | kMakeReg |
                                kMakeSock | kMakeFifo | kMakeSym | kRefer | kTruncate) &
                               handled;
  const std::uint64_t device = kReadFile | kWriteFile;
  int failed = add_path(ruleset, "/", look);
  if (failed == 0) failed = add_path(ruleset, "/vol", change);
  if (failed == 0) failed = add_path(ruleset, "/tmp", change);
  if (failed == 0) failed = add_path(ruleset, "/dev/shm", change);
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    if (failed == 0) failed = add_path(ruleset, path, device);
  }
  if (failed == 0 && ::syscall(SYS_landlock_restrict_self, ruleset, 0) < 0) failed = errno;
  (void)::close(ruleset);
  return failed;
}

}  // namespace casemate::jail
