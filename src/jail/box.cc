#include "jail/box.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "jail/devices.h"
#include "sys/beneath.h"
#include "sys/process.h"

namespace casemate::jail {
namespace {

using frame::EndCause;
using frame::wall_bit;

// CPU time is read at most this often and at least when it could first have been used up.
constexpr milliseconds kCpuCheckFloor{10};
constexpr int kWaitByPidfd = 3;  // P_PIDFD, linux/wait.h

std::uint64_t micros_between(Instant from, Instant to) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::microseconds>(to - from).count()));
}

Result<SourceTree> source_of(const sys::Fd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) < 0) return fail_errno("fstat");
  if (!S_ISDIR(status.st_mode)) return fail(ErrorCode::kInvalid, "an image must be a directory");
  std::string path(4096, '\0');
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  if (size < 0) return fail_errno("readlink");
  path.resize(static_cast<std::size_t>(size));
  return SourceTree{path, status.st_dev, status.st_ino};
}

// The two blocks of NUL-ended strings become argv and envp.
Result<void> place_strings(const frame::MakeBox& spec, Plan& plan) {
  plan.strings.assign(spec.strings.data(), spec.strings.size());
  std::size_t at = 0;
  const auto take = [&](std::uint32_t count, std::vector<char*>& out) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t end = plan.strings.find('\0', at);
      if (end == std::string::npos) return false;
      out.push_back(plan.strings.data() + at);
      at = end + 1;
    }
    out.push_back(nullptr);
    return true;
  };
  if (spec.argument_count == 0 || !take(spec.argument_count, plan.arguments) ||
      !take(spec.environment_count, plan.environment)) {
    return fail(ErrorCode::kInvalid, "the strings of a box are cut short");
  }
  if (!wall_on(plan, Wall::kEnvironment)) {  // test builds: what the warden itself was started with
    for (char** entry = ::environ; *entry != nullptr; ++entry)
      plan.environment.insert(plan.environment.begin(), *entry);
  }
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

Result<void> fill_plan(const Host& host, const frame::MakeBox& spec, std::uint32_t slot, Plan& plan) {
  plan.walls_off = kTestBuild ? spec.walls_off : 0;
  plan.fail_stage = kTestBuild ? static_cast<Stage>(spec.fail_stage) : Stage::kNone;
  TRY(check_limits(spec));
  TRY(place_strings(spec, plan));
  plan.single_id = host.ids.single;
  plan.slot_id = host.ids.single || !wall_on(plan, Wall::kSlotId) ? 0 : slot;
  plan.leaf_uid_map = plan.leaf_gid_map = "1000 " + std::to_string(plan.slot_id) + " 1";
  plan.landlock_abi = host.landlock;
  // userxattr: the overlay is made without privilege in the first user namespace. Linux 5.11.
  plan.overlay_options = "lowerdir=guest:image,userxattr";
  plan.layer_options =
      tmpfs_options(plan, spec.disk_max_bytes, spec.disk_inodes_max, Wall::kDiskLimit, Wall::kInodeLimit);
  plan.shm_options =
      tmpfs_options(plan, spec.disk_max_bytes, spec.disk_inodes_max, Wall::kDiskLimit, Wall::kInodeLimit) +
      ",uid=" + std::to_string(plan.slot_id) + ",gid=" + std::to_string(plan.slot_id);
  set_resource_limits(host, spec, plan);
  plan.affinity_count = (spec.cpus_milli + 999) / 1000;
  plan.affinity_first = host.instance + static_cast<std::uint32_t>(spec.header.box);
  return {};
}

// The output of a box is two pipes, which as root we give to the box's user.
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

unsigned long namespace_flags(const Plan& plan) {
  unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS;
  if (wall_on(plan, Wall::kPidNs)) flags |= CLONE_NEWPID;
  if (wall_on(plan, Wall::kNetNs)) flags |= CLONE_NEWNET;
  if (wall_on(plan, Wall::kIpcNs)) flags |= CLONE_NEWIPC;
  if (wall_on(plan, Wall::kUtsNs)) flags |= CLONE_NEWUTS;
  return flags;
}

// What is true of this box; a weakening shows as a missing bit.
std::uint64_t walls_on(const Host& host, const Plan& plan) {
  std::uint64_t walls = (std::uint64_t{1} << static_cast<unsigned>(Wall::kCount)) - 1;
  walls &= ~plan.walls_off;
  if (host.ids.single) walls &= ~(wall_bit(Wall::kSlotId) | wall_bit(Wall::kNestIds));
  if (plan.devices_fd < 0) walls &= ~wall_bit(Wall::kOwnDevices);
  if (host.no_cgroup) {
    walls &= ~(wall_bit(Wall::kMemoryLimit) | wall_bit(Wall::kPidsLimit) | wall_bit(Wall::kCpuShare) |
               wall_bit(Wall::kCpuTime));
  }
  return walls;
}

}  // namespace

Host::Host() : box_filter(compile(box_table())), init_filter(compile(init_table())) {
  filters.box = sock_fprog{static_cast<unsigned short>(box_filter.size()), box_filter.data()};
  filters.init = sock_fprog{static_cast<unsigned short>(init_filter.size()), init_filter.data()};
  landlock = landlock_abi();
}

std::unique_ptr<Box> Box::make(const Host& host, const frame::MakeBox& spec, BoxFds fds, std::uint32_t slot,
                               SetupFailure& failure) {
  std::unique_ptr<Box> box(new Box(host));
  box->id_ = spec.header.box;
  box->slot_ = slot;
  box->spec_ = spec;
  box->made_at_ = now();

  Plan plan;
  // Runs one step of the warden's own; on a failure the destructor of `box` undoes those before.
  const auto step = [&](Stage stage, auto action) {
    Result<void> done = fails_here(plan, stage) ? Result<void>(fail_errno("injected", EIO)) : action();
    if (done) return true;
    failure = SetupFailure{stage, done.error(), {}};
    return false;
  };
  bool ok = step(Stage::kLeaseId, [&]() -> Result<void> {
    TRY(fill_plan(host, spec, slot, plan));
    plan.image = TRY(source_of(fds.image));
    plan.guest = TRY(source_of(fds.guest));
    plan.stdin_fd = fds.stdin_fd.get();
    plan.stdout_fd = fds.stdout_fd.get();
    plan.stderr_fd = fds.stderr_fd.get();
    plan.control_fd = fds.control.get();
    return {};
  });
  // Looked at again, now that the plan knows what a test build asked for.
  ok = ok && step(Stage::kLeaseId, []() -> Result<void> { return {}; });
  ok = ok && step(Stage::kMakeGroups, [&]() -> Result<void> {
         if (!host.no_cgroup)
           box->groups_ = TRY(BoxGroups::create(host.cgroups, group_name(host.instance, box->id_)));
         return {};
       });
  ok = ok && step(Stage::kSetLimits, [&]() -> Result<void> {
         return box->groups_.set_limits({spec.memory_max_bytes, spec.pids_max, spec.cpus_milli,
                                         wall_on(plan, Wall::kMemoryLimit), wall_on(plan, Wall::kPidsLimit),
                                         wall_on(plan, Wall::kCpuShare)});
       });
  IdRange ids = host.ids;
  if (!wall_on(plan, Wall::kNestIds) && ids.by_root) {  // test builds: root inside is root outside
    ids.nest_uid = ids.nest_gid = 0;
    ids.first_uid = ids.first_gid = 1;
  }
  std::vector<sys::Fd> task_files;
  sys::Fd child_end;
  ok = ok && step(Stage::kMakeLink, [&]() -> Result<void> {
         task_files = TRY(box->groups_.open_task_files());
         for (const sys::Fd& file : task_files) plan.task_files.at(plan.task_file_count++) = file.get();
         sys::Pair pair = TRY(sys::make_seqpacket_pair());
         TRY(sys::set_nonblocking(pair.first));
         box->link_ = std::move(pair.first);
         child_end = std::move(pair.second);
         plan.link = child_end.get();
         return take_pipes(fds, ids, plan.slot_id);
       });
  sys::Fd devices;
  ok = ok && step(Stage::kMakeDevices, [&]() -> Result<void> {
         if (!ids.by_root || !wall_on(plan, Wall::kOwnDevices) || !wall_on(plan, Wall::kMinimalDev))
           return {};
         auto made = make_devices(ids);
         // In a container root may not: then the box is as an ordinary user's, and says so.
         if (!made && made.error().errno_value == EPERM) return {};
         devices = TRY(std::move(made));
         plan.devices_fd = devices.get();
         return {};
       });
  ok = ok && step(Stage::kClone, [&]() -> Result<void> {
         // A plain clone and no fork(): the namespaces must be made with the process. The child runs on a
         // copy of this single thread and touches nothing of the C library that remembers its pid.
         int pidfd = -1;
         // The copy must be dumpable until its maps are written, or /proc/PID belongs to root and
         // newuidmap refuses; its change of user id makes it undumpable again.
         (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
         clone_args arguments{};
         arguments.flags = namespace_flags(plan) | CLONE_PIDFD;
         arguments.exit_signal = SIGCHLD;
         arguments.pidfd = static_cast<__u64>(reinterpret_cast<std::uintptr_t>(&pidfd));
         // Born in its v2 group, since moving there later waits for a grace period of the kernel.
         if (const int group = box->groups_.unified_fd(); group >= 0) {
           arguments.flags |= CLONE_INTO_CGROUP;
           arguments.cgroup = static_cast<__u64>(group);
         }
         const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
         const int clone_errno = errno;
         if (pid != 0) (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
         if (pid < 0) return fail_errno("clone into new namespaces", clone_errno);
         if (pid == 0) {
           (void)::close(box->link_.get());
           run_nest_init(plan, host.filters);
         }
         box->init_ = sys::Fd(pidfd);
         box->init_pid_ = static_cast<int>(pid);
         box->user_namespace_ =
             TRY(sys::open_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/ns/user", O_RDONLY));
         return {};
       });
  child_end.reset();
  devices.reset();
  ok = ok && step(Stage::kWriteMaps, [&] { return write_id_maps(ids, box->init_pid_); });
  ok = ok && step(Stage::kSayMapped, [&] { return sys::send_message(box->link_, "m", {}); });
  if (!ok) {
    box->on_link();  // a step of the init's that failed explains why one of ours did
    if (box->ended_.stage != 0) {
      const auto errno_value = static_cast<int>(box->ended_.errno_value);
      failure = {static_cast<Stage>(box->ended_.stage), fail_errno("in the box", errno_value).value(), {}};
    }
    failure.gone = box->destroy(Deadline::in(milliseconds{5000}));
    return nullptr;
  }
  box->started_at_ = now();
  box->next_cpu_check_ =
      box->started_at_ + milliseconds(spec.cpu_time_max_ms) * 1000 / std::max(spec.cpus_milli, 1U);
  box->walls_on_ = walls_on(host, plan);
  return box;
}

Box::~Box() {
  if (init_) (void)destroy(Deadline::in(milliseconds{5000}));
}

void Box::watch(std::vector<pollfd>& items) const {
  if (dead_) return;
  items.push_back({init_.get(), POLLIN, 0});
  if (link_) items.push_back({link_.get(), POLLIN, 0});
  if (const sys::Fd* event = groups_.oom_event()) items.push_back({event->get(), POLLIN, 0});
}

std::optional<Instant> Box::next_deadline() const {
  if (dead_ || cause_) return std::nullopt;  // a killed box ends by itself: its pidfd tells
  return std::min(wall_end(), next_cpu_check_);
}

Instant Box::wall_end() const {
  const bool off = kTestBuild && (spec_.walls_off & wall_bit(Wall::kWallClock)) != 0;
  return off ? Instant::max() : started_at_ + milliseconds(spec_.wall_max_ms);
}

void Box::kill() const {
  if (init_) (void)::syscall(SYS_pidfd_send_signal, init_.get(), SIGKILL, nullptr, 0);
}

void Box::end(EndCause cause) {
  if (dead_ || cause_) return;
  cause_ = cause;
  kill();
}

void Box::on_link() {
  while (link_) {
    auto message = sys::receive_message(link_, sizeof(LinkMessage));
    if (!message) {
      // An init that ended with words of ours unread: told once, ahead of what it said.
      if (message.error().errno_value == ECONNRESET) continue;
      if (message.error().errno_value != EAGAIN) link_.reset();  // a broken link: the pidfd tells the rest
      return;
    }
    if (message->bytes.size() != sizeof(LinkMessage)) {
      link_.reset();
      return;
    }
    LinkMessage link;
    std::memcpy(&link, message->bytes.data(), sizeof(link));
    switch (link.kind) {
      case LinkMessage::Kind::kSetupFailed:
        ended_.stage = link.stage;
        ended_.errno_value = static_cast<std::uint32_t>(link.errno_value);
        if (!cause_) cause_ = EndCause::kSetupFailed;
        kill();
        break;
      case LinkMessage::Kind::kLayer:
        if (message->fds.size() == 1) layer_ = std::move(message->fds.front());
        break;
      case LinkMessage::Kind::kInitReady: started_ = true; break;
      case LinkMessage::Kind::kMainEnded: {
        const sys::ExitStatus status = sys::exit_status_of(link.wait_status);
        ended_.has_status = 1;
        ended_.exit_code = static_cast<std::uint32_t>(status.code.value_or(0));
        ended_.signal = static_cast<std::uint32_t>(status.signal.value_or(0));
        ended_.leftover_processes = link.leftover;
        break;
      }
    }
  }
}

void Box::fill_usage(Instant at) {
  const GroupUsage usage = groups_.usage();
  ended_.wall_us = micros_between(started_at_, at);
  ended_.cpu_us = usage.cpu_us;
  ended_.memory_peak_bytes = usage.memory_peak_bytes;
  ended_.oom_kills = usage.oom_kills;
  ended_.pids_refused = usage.pids_refused;
  ended_.pids_peak = usage.pids_peak;
  struct statfs space {};
  if (layer_ && ::fstatfs(layer_.get(), &space) == 0) {
    const auto block = static_cast<std::uint64_t>(space.f_bsize);
    ended_.disk_peak_bytes = (space.f_blocks - space.f_bfree) * block;
    ended_.disk_free_bytes = space.f_bfree * block;
    ended_.inodes_free = space.f_ffree;
  }
}

void Box::on_init_ended(Instant at) {
  siginfo_t info{};
  rusage used{};
  // The system call has a fifth argument that the library's waitid hides: what the tree used.
  if (::syscall(SYS_waitid, kWaitByPidfd, init_.get(), &info, WEXITED | WNOHANG, &used) < 0 ||
      info.si_pid == 0) {
    return;
  }
  on_link();  // what it said before it ended
  init_.reset();
  init_pid_ = -1;
  dead_ = true;
  fill_usage(at);
  ended_.minor_faults = static_cast<std::uint64_t>(used.ru_minflt);
  if (cause_) {
    ended_.cause = *cause_;
  } else if (ended_.oom_kills > 0) {
    ended_.cause = EndCause::kMemory;
  } else {
    ended_.cause = ended_.has_status != 0 ? EndCause::kProgram : EndCause::kLost;
  }
}

void Box::check_limits(Instant at) {
  if (dead_ || cause_ || ended_.has_status != 0) return;
  if (at >= wall_end()) return end(EndCause::kWall);
  if (oom_seen_ && groups_.oom_kills() > 0) return end(EndCause::kMemory);
  if (at >= next_cpu_check_) {
    const bool test_keeps_cpu = kTestBuild && (spec_.walls_off & wall_bit(Wall::kCpuTime)) != 0;
    const std::uint64_t used_us = groups_.cpu_us();
    const std::uint64_t most_us = spec_.cpu_time_max_ms * 1000;
    if (used_us >= most_us && !test_keeps_cpu) return end(EndCause::kCpuTime);
    // The earliest moment at which the rest can have been used, all processors busy.
    const std::uint64_t left_us =
        used_us >= most_us ? 1'000'000 : (most_us - used_us) * 1000 / std::max(spec_.cpus_milli, 1U);
    next_cpu_check_ =
        at + std::max<std::chrono::microseconds>(std::chrono::microseconds(left_us), kCpuCheckFloor);
    if (oom_seen_) next_cpu_check_ = at + kCpuCheckFloor;
  }
}

void Box::on_events(Instant at) {
  if (dead_) return;
  if (const sys::Fd* event = groups_.oom_event()) {
    eventfd_t count = 0;
    // The kernel could not free memory inside the box and is about to kill one process: the run is
    // over. The event comes before the kill is counted, so the count is looked at again soon.
    if (::eventfd_read(event->get(), &count) == 0) {
      oom_seen_ = true;
      next_cpu_check_ = at;
    }
  }
  on_link();
  on_init_ended(at);
  check_limits(at);
}

std::optional<frame::BoxStarted> Box::take_started() {
  if (!started_ || started_taken_) return std::nullopt;
  started_taken_ = true;
  frame::BoxStarted message;
  message.header.box = id_;
  message.walls_on = walls_on_;
  message.setup_us = micros_between(made_at_, now());
  return message;
}

std::optional<frame::BoxEnded> Box::take_ended() {
  if (!dead_ || ended_taken_) return std::nullopt;
  ended_taken_ = true;
  ended_.header.box = id_;
  if (ended_.cause == EndCause::kSetupFailed) {
    const auto error = fail_errno(stage_text(ended_.stage), static_cast<int>(ended_.errno_value));
    frame::put_text(ended_.text, error.value().message);
  }
  return ended_;
}

int Box::open_file(const std::string& path, sys::Fd& file) const {
  if (!layer_ || !dead_) return ENOENT;
  const auto open_here = [&]() -> Result<sys::RegularFile> {
    return sys::open_regular_beneath(layer_, path);
  };
  const auto errno_of = [](const Error& error) {
    if (error.errno_value != 0) return error.errno_value;
    return error.code == ErrorCode::kNotFound ? ENOENT : error.code == ErrorCode::kInvalid ? EINVAL : EPERM;
  };
  if (::geteuid() == 0) {
    auto opened = open_here();
    if (!opened) return errno_of(opened.error());
    file = std::move(opened->fd);
    return 0;
  }
  // The layer's files belong to ids that are ours only inside the nest: a short-lived child enters the
  // nest's user namespace, where it may read them, opens the one file and passes it back.
  auto pair = sys::make_seqpacket_pair();
  if (!pair) return pair.error().errno_value;
  const pid_t pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    int result = ::setns(user_namespace_.get(), CLONE_NEWUSER) < 0 ? errno : 0;
    sys::Fd found;
    if (result == 0) {
      auto opened = open_here();
      if (opened) {
        found = std::move(opened->fd);
      } else {
        result = errno_of(opened.error());
      }
    }
    const int fd = found.get();
    (void)sys::send_message(pair->second, {reinterpret_cast<const char*>(&result), sizeof(result)},
                            {&fd, found ? 1UL : 0UL});
    ::_exit(0);
  }
  pair->second.reset();
  auto answer = sys::receive_message(pair->first, sizeof(int));
  (void)::waitpid(pid, nullptr, 0);
  if (!answer || answer->bytes.size() != sizeof(int)) return EIO;
  int result = 0;
  std::memcpy(&result, answer->bytes.data(), sizeof(result));
  if (result == 0 && answer->fds.size() == 1) file = std::move(answer->fds.front());
  return result != 0 ? result : file ? 0 : EIO;
}

frame::BoxGone Box::destroy(Deadline deadline) {
  const Instant begun = now();
  frame::BoxGone gone;
  gone.header.box = id_;
  if (init_) {
    kill();
    siginfo_t info{};
    // The end of the init is the end of its pid namespace: the kernel lets it be reaped only when
    // every other process inside is gone. pid_namespaces(7).
    auto ready = sys::wait_readable(init_, deadline);
    if (ready && *ready &&
        ::syscall(SYS_waitid, kWaitByPidfd, init_.get(), &info, WEXITED | WNOHANG, nullptr) == 0 &&
        info.si_pid != 0) {
      init_.reset();
    }
  }
  gone.init_reaped = init_ ? 0 : 1;
  const BoxGroups::End groups = groups_.end(deadline);
  gone.groups_empty = groups.empty ? 1 : 0;
  gone.groups_removed = groups.removed ? 1 : 0;
  link_.reset();
  user_namespace_.reset();
  layer_.reset();
  gone.layer_released = 1;
  gone.destroyed = gone.init_reaped & gone.groups_empty & gone.groups_removed & gone.layer_released;
  gone.teardown_us = micros_between(begun, now());
  return gone;
}

}  // namespace casemate::jail
