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

#include "jail/box_plan.h"
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

}  // namespace

Result<void> Box::clone_init(const Plan& plan, const SourceTrees& trees) {
  // A plain clone and no fork(): the namespaces must be made with the process. The child runs on a
  // copy of this single thread and touches nothing of the C library that remembers its pid.
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = namespace_flags(plan) | CLONE_PIDFD;
  arguments.exit_signal = SIGCHLD;
  arguments.pidfd = static_cast<__u64>(reinterpret_cast<std::uintptr_t>(&pidfd));
  // Born in its v2 group, since moving there later waits for a grace period of the kernel.
  if (const int group = groups_.unified_fd(); group >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<__u64>(group);
  }
  // The copy must be dumpable until its maps are written, or /proc/PID belongs to root and newuidmap
  // refuses; its change of user id makes it undumpable again.
  (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  const int clone_errno = errno;
  if (pid != 0) (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (pid < 0) return fail_errno("clone into new namespaces", clone_errno);
  if (pid == 0) {
    (void)::close(link_.get());
    run_nest_init(plan, trees);
  }
  init_ = sys::Fd(pidfd);
  init_pid_ = static_cast<int>(pid);
  user_namespace_ = TRY(sys::open_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/ns/user", O_RDONLY));
  return {};
}

std::unique_ptr<Box> Box::make(const Host& host, const frame::MakeBox& spec, BoxFds fds, std::uint32_t slot,
                               SetupFailure& failure) {
  std::unique_ptr<Box> box(new Box(host));
  box->id_ = spec.header.box;
  box->slot_ = slot;
  box->spec_ = spec;
  box->made_at_ = now();

  Plan plan;
  SourceTrees trees;
  // Runs one step of the warden's own; on a failure the destructor of `box` undoes those before.
  const auto step = [&](Stage stage, auto action) {
    Result<void> done = fails_here(plan, stage) ? Result<void>(fail_errno("injected", EIO)) : action();
    if (done) return true;
    failure = SetupFailure{stage, done.error(), {}};
    return false;
  };
  bool ok = step(Stage::kLeaseId, [&]() -> Result<void> {
    trees = TRY(find_sources(fds.image, fds.guest));
    return fill_plan(host, spec, fds, slot, plan);
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
  const IdRange ids = nest_ids(host, plan);
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
         devices = TRY(own_devices(ids, plan));
         plan.devices_fd = devices.get();
         return {};
       });
  ok = ok && step(Stage::kClone, [&] { return box->clone_init(plan, trees); });
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
