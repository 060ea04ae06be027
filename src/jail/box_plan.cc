#include "jail/box_plan.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "jail/devices.h"

namespace casemate::jail {
namespace {

using frame::wall_bit;

Result<SourceTree> source_of(const sys::Fd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) < 0) return fail_errno("fstat");
  if (!S_ISDIR(status.st_mode)) return fail(ErrorCode::kInvalid, "an image must be a directory");
  SourceTree tree{{}, status.st_dev, status.st_ino};
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  const ssize_t size = ::readlink(link.c_str(), tree.path.data(), tree.path.size());
  if (size < 0) return fail_errno("readlink");
  if (static_cast<std::size_t>(size) == tree.path.size())
    return fail(ErrorCode::kInvalid, "the path of an image is too long");
  return tree;
}

// The two blocks of NUL-ended strings are all there.
Result<void> place_strings(const frame::MakeBox& spec, Plan& plan) {
  const std::size_t wanted = std::size_t{spec.argument_count} + spec.environment_count;
  const auto ends = static_cast<std::size_t>(std::count(spec.strings.begin(), spec.strings.end(), '\0'));
  if (spec.argument_count == 0 || spec.argument_count > kArgumentsMax ||
      spec.environment_count > kEnvironmentMax || ends < wanted) {
    return fail(ErrorCode::kInvalid, "the strings of a box are cut short");
  }
  plan.strings = spec.strings;
  plan.argument_count = spec.argument_count;
  plan.environment_count = spec.environment_count;
  return {};
}

void add_limit(Plan& plan, int resource, std::uint64_t limit, Wall wall) {
  plan.resource_limits.at(plan.resource_limit_count++) = ResourceLimit{resource, limit, wall};
}

void set_resource_limits(const Host& host, const frame::MakeBox& spec, Plan& plan) {
  // 1 and not 0: a core handler that is a pipe ignores 0 and is not run for 1. core(5).
  add_limit(plan, RLIMIT_CORE, 1, Wall::kCoreLimit);
  add_limit(plan, RLIMIT_FSIZE, spec.file_size_max_bytes, Wall::kFileSizeLimit);
  add_limit(plan, RLIMIT_NOFILE, spec.open_files_max, Wall::kOpenFilesLimit);
  add_limit(plan, RLIMIT_MEMLOCK, 64 << 10, Wall::kLockedMemoryLimit);
  add_limit(plan, RLIMIT_MSGQUEUE, 0, Wall::kMessageQueueLimit);
  add_limit(plan, RLIMIT_SIGPENDING, 256, Wall::kSignalQueueLimit);
  add_limit(plan, RLIMIT_NICE, 0, Wall::kPriorityLimit);
  add_limit(plan, RLIMIT_RTPRIO, 0, Wall::kPriorityLimit);
  add_limit(plan, RLIMIT_STACK, 8 << 20, Wall::kStackLimit);
  if (host.no_cgroup) {
    // The weakening: per process and per user id instead of per box.
    add_limit(plan, RLIMIT_AS, spec.memory_max_bytes, Wall::kMemoryLimit);
    add_limit(plan, RLIMIT_NPROC, spec.pids_max, Wall::kPidsLimit);
    add_limit(plan, RLIMIT_CPU, spec.cpu_time_max_ms / 1000 + 1, Wall::kCpuTime);
  }
}

std::string tmpfs_options(const Plan& plan, std::uint64_t bytes, std::uint64_t inodes, Wall size,
                          Wall count) {
  std::string options = "mode=0755";
  if (wall_on(plan, size)) options += ",size=" + std::to_string(bytes);
  if (wall_on(plan, count)) options += ",nr_inodes=" + std::to_string(inodes);
  return options;
}

// The engine has looked at them too. Zero is no limit at all to tmpfs(5), and a time that a duration
// cannot hold would be one in the past or never.
Result<void> check_limits(const frame::MakeBox& spec) {
  constexpr std::uint64_t kTimeMaxMs = std::uint64_t{7} * 24 * 3600 * 1000;
  for (const std::uint64_t limit : {spec.memory_max_bytes, spec.disk_max_bytes, spec.disk_inodes_max,
                                    spec.wall_max_ms, spec.cpu_time_max_ms, std::uint64_t{spec.cpus_milli},
                                    std::uint64_t{spec.pids_max}, std::uint64_t{spec.open_files_max}}) {
    if (limit == 0) return fail(ErrorCode::kInvalid, "a limit of the box is zero");
  }
  if (spec.wall_max_ms > kTimeMaxMs || spec.cpu_time_max_ms > kTimeMaxMs) {
    return fail(ErrorCode::kInvalid, "a time limit of the box is longer than a week");
  }
  return {};
}

}  // namespace

Result<void> fill_plan(const Host& host, const frame::MakeBox& spec, const BoxFds& fds, std::uint32_t slot,
                       Plan& plan) {
  if (spec.rung > frame::Rung::kMicrovm) return fail(ErrorCode::kInvalid, "no such rung");
  plan.rung = spec.rung;
  plan.walls_off = kTestBuild ? spec.walls_off : 0;
  plan.fail_stage = kTestBuild ? static_cast<Stage>(spec.fail_stage) : Stage::kNone;
  TRY(check_limits(spec));
  TRY(place_strings(spec, plan));
  plan.single_id = host.ids.single;
  plan.rehearse = spec.rehearse != 0;
  plan.slot_id = host.ids.single || !wall_on(plan, Wall::kSlotId) ? 0 : slot;
  frame::put_text(plan.leaf_map, "1000 " + std::to_string(plan.slot_id) + " 1");
  plan.landlock_abi = host.landlock;
  // userxattr: the overlay is made without privilege in the first user namespace. Linux 5.11.
  frame::put_text(plan.overlay_options, "lowerdir=guest:image,userxattr");
  const std::string sized =
      tmpfs_options(plan, spec.disk_max_bytes, spec.disk_inodes_max, Wall::kDiskLimit, Wall::kInodeLimit);
  frame::put_text(plan.layer_options, sized);
  const std::string id = std::to_string(plan.slot_id);
  frame::put_text(plan.shm_options, sized + ",uid=" + id + ",gid=" + id);
  set_resource_limits(host, spec, plan);
  plan.affinity_count = (spec.cpus_milli + 999) / 1000;
  plan.affinity_first = host.instance + static_cast<std::uint32_t>(spec.header.box);
  plan.stdin_fd = fds.stdin_fd.get();
  plan.stdout_fd = fds.stdout_fd.get();
  plan.stderr_fd = fds.stderr_fd.get();
  plan.control_fd = fds.control.get();
  std::transform(fds.runtime.begin(), fds.runtime.end(), plan.runtime_fds.begin(),
                 [](const sys::Fd& fd) { return fd.get(); });
  return {};
}

Result<SourceTrees> find_sources(const sys::Fd& image, const sys::Fd& guest) {
  return SourceTrees{TRY(source_of(image)), TRY(source_of(guest))};
}

IdRange nest_ids(const Host& host, const Plan& plan) {
  IdRange ids = host.ids;
  if (!wall_on(plan, Wall::kNestIds) && ids.by_root) {  // root inside is root outside
    ids.nest_uid = ids.nest_gid = 0;
    ids.first_uid = ids.first_gid = 1;
  }
  return ids;
}

std::uint32_t outside_id(const IdRange& ids, uid_t slot_id) {
  return slot_id == 0 ? ids.nest_uid : ids.first_uid + slot_id - 1;
}

Result<void> take_pipes(const BoxFds& fds, const IdRange& ids, uid_t slot_id) {
  for (const sys::Fd* pipe : {&fds.stdout_fd, &fds.stderr_fd}) {
    struct stat status {};
    if (::fstat(pipe->get(), &status) < 0) return fail_errno("fstat");
    // stops: an engine that has root give a box a file of the host's that it can merely open
    if (!S_ISFIFO(status.st_mode)) return fail(ErrorCode::kInvalid, "a box's output must be pipes");
    const uid_t owner = ids.nest_uid + slot_id;
    if (ids.by_root && ::fchown(pipe->get(), owner, owner) < 0) return fail_errno("give the box its pipes");
  }
  return {};
}

Result<sys::Fd> own_devices(const IdRange& ids, const Plan& plan) {
  if (!ids.by_root || !wall_on(plan, Wall::kOwnDevices) || !wall_on(plan, Wall::kMinimalDev))
    return sys::Fd();
  auto made = make_devices(ids);
  if (!made && made.error().errno_value == EPERM) return sys::Fd();
  return made;
}

unsigned long namespace_flags(const Plan& plan) {
  unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS;
  if (wall_on(plan, Wall::kPidNs)) flags |= CLONE_NEWPID;
  if (wall_on(plan, Wall::kNetNs)) flags |= CLONE_NEWNET;
  if (wall_on(plan, Wall::kIpcNs)) flags |= CLONE_NEWIPC;
  if (wall_on(plan, Wall::kUtsNs)) flags |= CLONE_NEWUTS;
  return flags;
}

std::uint64_t walls_on(const Host& host, const Plan& plan) {
  std::uint64_t walls = (std::uint64_t{1} << static_cast<unsigned>(Wall::kCount)) - 1;
  walls &= ~(plan.walls_off | frame::walls_of_runtime(plan.rung));
  if (host.ids.single) walls &= ~(wall_bit(Wall::kSlotId) | wall_bit(Wall::kNestIds));
  if (plan.devices_fd < 0) walls &= ~wall_bit(Wall::kOwnDevices);
  if (host.no_cgroup) {
    walls &= ~(wall_bit(Wall::kMemoryLimit) | wall_bit(Wall::kPidsLimit) | wall_bit(Wall::kCpuShare) |
               wall_bit(Wall::kCpuTime));
  }
  return walls;
}

}  // namespace casemate::jail
