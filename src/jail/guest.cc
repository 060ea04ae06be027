// The process that becomes the guest: gives up, in an order that matters, everything that the nest's
// init had, and executes the interpreter. See child.h.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "jail/child.h"
#include "jail/seccomp.h"
#include "jail/step.h"

namespace casemate::jail {
namespace {

int write_self(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int failed = errno_of(::write(file, text, std::strlen(text)));
  (void)::close(file);
  return failed;
}

int set_resource_limits(const Plan& plan) {
  for (std::size_t i = 0; i < plan.resource_limit_count; ++i) {
    const ResourceLimit& entry = plan.resource_limits[i];
    if (!wall_on(plan, entry.wall)) continue;
    const rlimit limit{entry.limit, entry.limit};
    if (::setrlimit(static_cast<__rlimit_resource>(entry.resource), &limit) < 0) return errno;
  }
  return 0;
}

// stops: a second box, or the init, of the same user id. The id belongs to this box's layer alone.
int become_slot_id(const Plan& plan) {
  if (plan.single_id) return 0;
  if (::setgroups(0, nullptr) < 0) return errno;
  if (::setresgid(plan.slot_id, plan.slot_id, plan.slot_id) < 0) return errno;
  return errno_of(::setresuid(plan.slot_id, plan.slot_id, plan.slot_id));
}

// stops: capabilities that a guest might regain from meaning anything. The box's mount, network, pid
// and IPC namespaces belong to the nest; in the leaf there is nothing to be privileged over.
void enter_leaf(const Plan& plan) {
  step(plan, Stage::kLeafUserNs, [&] {
    // A change of user id cleared this, and with it the ownership of /proc/self.
    if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) return errno;
    return errno_of(::unshare(CLONE_NEWUSER));
  });
  step(plan, Stage::kLeafMaps, [&] {
    if (const int failed = write_self("/proc/self/setgroups", "deny"); failed != 0) return failed;
    if (const int failed = write_self("/proc/self/uid_map", plan.leaf_map.data()); failed != 0) return failed;
    if (const int failed = write_self("/proc/self/gid_map", plan.leaf_map.data()); failed != 0) return failed;
    return errno_of(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
  });
}

std::span<const sock_filter> program_of(frame::Rung rung) {
  switch (rung) {
    case frame::Rung::kJail: break;
    case frame::Rung::kGvisor: return runtime_program();
    case frame::Rung::kMicrovm: return machine_program();
  }
  return box_program();
}

// Descriptors 0 to 3, for a stronger rung those of its runtime, and nothing else.
int place_descriptors(const Plan& plan) {
  constexpr int kMost = 4 + static_cast<int>(frame::kRuntimeFilesMax);
  int wanted[kMost] = {plan.stdin_fd, plan.stdout_fd, plan.stderr_fd, plan.control_fd};
  int count = 4;
  for (const int fd : plan.runtime_fds) {
    if (fd >= 0) wanted[count++] = fd;
  }
  int high[kMost];
  for (int i = 0; i < count; ++i) {
    high[i] = ::fcntl(wanted[i], F_DUPFD_CLOEXEC, 64);
    if (high[i] < 0) return errno;
  }
  for (int i = 0; i < count; ++i) {
    if (::dup2(high[i], i) < 0) return errno;
  }
  // stops: an inode of the host's /dev in the box, which could be locked and watched, where the engine
  // gave its /dev/null: the box has one too
  struct stat status {};
  if (wall_on(plan, Wall::kOwnDevices) && ::fstat(0, &status) == 0 && S_ISCHR(status.st_mode)) {
    const int own = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (own < 0 || ::dup2(own, 0) < 0) return errno;
    (void)::close(own);
  }
  // stops: directories, sockets and files of the host in the box (CVE-2024-21626). The link stays
  // until execve closes it, so that the steps still to come can report.
  if (!wall_on(plan, Wall::kCloseFds)) return 0;
  if (plan.link > count &&
      ::syscall(SYS_close_range, static_cast<unsigned>(count), static_cast<unsigned>(plan.link - 1), 0U) < 0)
    return errno;
  return errno_of(::syscall(SYS_close_range, static_cast<unsigned>(plan.link + 1), ~0U, 0U));
}

// Asks the kernel, and not our own steps, what this process holds.
int audit(const Plan& plan) {
  if (wall_on(plan, Wall::kCapabilities)) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct held[2] = {};
    if (::syscall(SYS_capget, &header, held) < 0) return errno;
    for (const auto& half : held) {
      if ((half.effective | half.permitted | half.inheritable) != 0) return EPERM;
    }
    for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability) {
      if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) > 0) return EPERM;
    }
  }
  if (wall_on(plan, Wall::kNoNewPrivs) && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return EPERM;
  if (wall_on(plan, Wall::kLandlock)) {
    // The directory is the box's own, and Landlock is asked before CAP_MKNOD is looked for (do_mknodat
    // in fs/namei.c): EACCES can only come from it, since no rule grants MAKE_CHAR, and EPERM says that
    // it stood aside. A whiteout (device 0:0) would need no capability, but kernels that have the
    // erratum of 2026 (Debian's 6.1.192 among them) take it for a regular file, which is granted.
    if (::mknod("/vol/run/probe", S_IFCHR, makedev(1, 3)) == 0) {
      (void)::unlink("/vol/run/probe");
      return EPERM;
    }
    if (errno != EACCES) return errno;
  }
  return 0;
}

}  // namespace

int execute(const Plan& plan) {
  char* arguments[kArgumentsMax + 1] = {};
  char* environment[kEnvironmentMax + 1] = {};
  const char* at = plan.strings.data();
  const auto take = [&at](char** out, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      out[i] = const_cast<char*>(at);
      at += std::strlen(at) + 1;
    }
  };
  take(arguments, plan.argument_count);
  take(environment, plan.environment_count);
  if (!wall_on(plan, Wall::kEnvironment)) {  // test builds: what the warden itself was started with as well
    std::uint32_t count = plan.environment_count;
    for (char** entry = ::environ; *entry != nullptr && count < kEnvironmentMax; ++entry)
      environment[count++] = *entry;
  }
  ::execve(arguments[0], arguments, environment);
  return errno;
}

void drop_to_guest(const Plan& plan) {
  // stops: the supervisor's terminal, and signals to its process group
  if (wall_on(plan, Wall::kNewSession)) step(plan, Stage::kNewSession, [] { return errno_of(::setsid()); });
  // Before the limits: where few open files are allowed there would be no room to place them.
  step(plan, Stage::kPlaceFds, [&] { return place_descriptors(plan); });
  step(plan, Stage::kResourceLimits, [&] { return set_resource_limits(plan); });
  if (plan.single_id) {
    // One id: the map of the leaf can only be written while the nest's capabilities are still here.
    if (wall_on(plan, Wall::kLeafUserNs)) enter_leaf(plan);
    if (wall_on(plan, Wall::kCapabilities))
      step(plan, Stage::kDropBounding, [] { return drop_bounding_set(); });
  } else {
    // The bounding set is dropped last: making a user namespace gives a full set in it, that one included.
    // In a test build without the leaf it has to go while the right to drop it is still here.
    const bool leaf = wall_on(plan, Wall::kLeafUserNs);
    const auto drop_bounding = [&] {
      if (wall_on(plan, Wall::kCapabilities))
        step(plan, Stage::kDropBounding, [] { return drop_bounding_set(); });
    };
    if (!leaf) drop_bounding();
    if (wall_on(plan, Wall::kSlotId)) step(plan, Stage::kBecomeSlotId, [&] { return become_slot_id(plan); });
    if (leaf) {
      enter_leaf(plan);
      drop_bounding();
    }
  }
  if (wall_on(plan, Wall::kCapabilities)) {
    step(plan, Stage::kDropCapabilities,
         [&] { return drop_all_capabilities(wall_on(plan, Wall::kLeafUserNs)); });
  }
  if (plan.role == Role::kSlot) {
    // An execve would make it so: without it /proc/self belongs to somebody else.
    step(plan, Stage::kDropCapabilities, [] { return errno_of(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); });
  }
  if (wall_on(plan, Wall::kNoNewPrivs)) {
    step(plan, Stage::kNoNewPrivs, [] { return errno_of(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); });
  }
  step(plan, Stage::kWorkDirectory, [] { return errno_of(::chdir("/vol/work")); });
  if (wall_on(plan, Wall::kLandlock))
    step(plan, Stage::kLandlock, [&] { return restrict_files(plan.landlock_abi); });
  step(plan, Stage::kAudit, [&] { return audit(plan); });
  if (wall_on(plan, Wall::kSeccomp)) {
    step(plan, Stage::kSeccomp, [&] { return install(program_of(plan.rung)); });
  }
}

void become_guest(const Plan& plan) {
  drop_to_guest(plan);
  step(plan, Stage::kExec, [&] { return execute(plan); });
  ::_exit(1);
}

}  // namespace casemate::jail
