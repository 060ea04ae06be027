#include "jail/devices.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace casemate::jail {
namespace {

struct Device {
  const char* name;
  unsigned minor;
};
constexpr Device kDevices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};

constexpr std::pair<const char*, const char*> kLinks[] = {{"/proc/self/fd", "fd"},
                                                          {"/proc/self/fd/0", "stdin"},
                                                          {"/proc/self/fd/1", "stdout"},
                                                          {"/proc/self/fd/2", "stderr"}};

Result<void> set_option(const sys::Fd& context, const char* name, const std::string& value) {
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, name, value.c_str(), 0) < 0)
    return fail_errno("configure /dev");
  return {};
}

}  // namespace

Result<sys::Fd> make_devices(const IdRange& ids) {
  const sys::Fd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context) return fail_errno("make a file system for /dev");
  TRY(set_option(context, "source", "casemate"));
  TRY(set_option(context, "size", "64k"));
  TRY(set_option(context, "nr_inodes", "64"));
  TRY(set_option(context, "mode", "0755"));
  TRY(set_option(context, "uid", std::to_string(ids.nest_uid)));
  TRY(set_option(context, "gid", std::to_string(ids.nest_gid)));
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) < 0)
    return fail_errno("create /dev");
  sys::Fd tree(static_cast<int>(
      ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)));
  if (!tree) return fail_errno("mount /dev");
  for (const Device& device : kDevices) {
    if (::mknodat(tree.get(), device.name, S_IFCHR | 0666, makedev(1, device.minor)) < 0 ||
        ::fchmodat(tree.get(), device.name, 0666, 0) < 0 ||
        ::fchownat(tree.get(), device.name, ids.nest_uid, ids.nest_gid, AT_SYMLINK_NOFOLLOW) < 0)
      return fail_errno("make a device");
  }
  for (const auto& [target, name] : kLinks) {
    if (::symlinkat(target, tree.get(), name) < 0) return fail_errno("link a descriptor in /dev");
  }
  if (::mkdirat(tree.get(), "shm", 0755) < 0) return fail_errno("make /dev/shm");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
    return fail_errno("make /dev read-only");
  return tree;
}

}  // namespace casemate::jail
