#include "jail/box.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
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

constexpr int kWaitByPidfd = 3;  // P_PIDFD, linux/wait.h

std::uint64_t micros_between(Instant from, Instant to) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::microseconds>(to - from).count()));
}

}  // namespace

std::unique_ptr<Box> Box::make(const Host& host, const frame::MakeBox& spec, BoxFds fds, std::uint32_t slot,
                               Nest* nest, SetupFailure& failure) {
  std::unique_ptr<Box> box(new Box(host));
  box->nest_ = nest;
  box->id_ = spec.header.box;
  box->slot_ = slot;
  box->spec_ = spec;
  box->made_at_ = now();

  Plan plan;
  Steps steps(plan, failure);  // on a failure the box is destroyed, which undoes the steps before
  steps.run(Stage::kLeaseId, [&] { return fill_plan(host, spec, fds, slot, plan); });
  // Looked at again, now that the plan knows what a test build asked for.
  steps.run(Stage::kLeaseId, []() -> Result<void> { return {}; });
  box->outside_id_ = outside_id(nest_ids(host, plan), plan.slot_id);
  steps.run(Stage::kMakeGroups, [&]() -> Result<void> {
    if (!host.no_cgroup)
      box->cell_.groups = TRY(BoxGroups::create(host.cgroups, group_name(host.instance, box->id_)));
    return {};
  });
  steps.run(Stage::kSetLimits, [&] {
    return box->cell_.groups.set_limits({spec.memory_max_bytes, spec.pids_max, spec.cpus_milli,
                                         wall_on(plan, Wall::kMemoryLimit), wall_on(plan, Wall::kPidsLimit),
                                         wall_on(plan, Wall::kCpuShare)});
  });
  std::vector<sys::Fd> task_files;
  steps.run(Stage::kMakeLink, [&]() -> Result<void> {
    task_files = TRY(box->cell_.groups.open_task_files());
    for (const sys::Fd& file : task_files) plan.task_files.at(plan.task_file_count++) = file.get();
    return take_pipes(fds, nest_ids(host, plan), plan.slot_id);
  });
  if (nest == nullptr) {
    box->make_cold(plan, std::move(fds), steps);
  } else {
    box->make_in_nest(plan, std::move(fds), std::move(task_files), steps);
  }
  if (!steps.ok()) {
    box->on_link();  // a step of the init's that failed explains why one of ours did
    if (box->ended_.stage != 0) {
      const auto errno_value = static_cast<int>(box->ended_.errno_value);
      failure = {static_cast<Stage>(box->ended_.stage), fail_errno("in the box", errno_value).value(), {}};
    }
    failure.gone = box->destroy(Deadline::in(milliseconds{5000}));
    return nullptr;
  }
  return box;
}

void Box::make_cold(const Plan& base, BoxFds fds, Steps& steps) {
  Plan plan = base;
  SourceTrees trees;
  sys::Fd child_end, devices;
  const IdRange ids = nest_ids(host_, plan);
  steps.run(Stage::kMakeLink, [&]() -> Result<void> {
    trees = TRY(find_sources(fds.image, fds.guest));
    child_end = TRY(cell_.make_link());
    plan.link = child_end.get();
    return {};
  });
  steps.run(Stage::kMakeDevices, [&]() -> Result<void> {
    devices = TRY(own_devices(ids, plan));
    plan.devices_fd = devices.get();
    return {};
  });
  if (spec_.parks != 0) {
    running_ = false;
    cell_.groups.set_share(BoxGroups::Share::kPreparing);
  }
  steps.run(Stage::kClone, [&] { return cell_.clone_init(plan, trees); });
  child_end.reset();
  if (!steps.ok()) return;
  cell_.map_ids(ids, steps);
  started_at_ = now();
  next_cpu_check_ = started_at_ + milliseconds(spec_.cpu_time_max_ms) * 1000 / std::max(spec_.cpus_milli, 1U);
  walls_on_ = walls_on(host_, plan);
}

Box::~Box() {
  if (cell_.init || making_) (void)destroy(Deadline::in(milliseconds{5000}));
}

void Box::watch(std::vector<pollfd>& items) const {
  if (dead_) return;
  if (cell_.init) items.push_back({cell_.init.get(), POLLIN, 0});
  if (cell_.link) items.push_back({cell_.link.get(), POLLIN, 0});
  if (guest_link_) items.push_back({guest_link_.get(), POLLIN, 0});
  if (const sys::Fd* event = cell_.groups.oom_event()) items.push_back({event->get(), POLLIN, 0});
}

void Box::end(EndCause cause) {
  if (dead_ || cause_) return;
  cause_ = cause;
  cell_.kill();
  // Killed first: no process of it gets to run. Only v1 needs it.
  if (frozen_at_) (void)cell_.groups.freeze(false);
  // In a nest there may be no init yet to be ended, and then nothing has begun that could go on.
  if (nest_ != nullptr && !cell_.init && init_nest_pid_ == 0) dead_ = true;
}

void Box::on_link() {
  while (cell_.link) {
    auto message = sys::receive_message(cell_.link, sizeof(LinkMessage));
    if (!message) {
      // An init that ended with words of ours unread: told once, ahead of what it said.
      if (message.error().errno_value == ECONNRESET) continue;
      if (message.error().errno_value != EAGAIN) cell_.link.reset();  // broken: the pidfd tells the rest
      return;
    }
    if (message->bytes.size() != sizeof(LinkMessage)) return cell_.link.reset();
    LinkMessage said;
    std::memcpy(&said, message->bytes.data(), sizeof(said));
    take(said, std::move(message->fds));
  }
}

void Box::take(const LinkMessage& message, std::vector<sys::Fd> fds) {
  switch (message.kind) {
    case LinkMessage::Kind::kSetupFailed:
      return fail_making(static_cast<Stage>(message.stage), message.errno_value);
    case LinkMessage::Kind::kLayer:
      if (fds.size() == 1) layer_ = std::move(fds.front());
      if (nest_ != nullptr) ask_for_guest();
      return;
    case LinkMessage::Kind::kInitReady:
      init_ready_ = true;
      started_ = running_;
      return;
    case LinkMessage::Kind::kMainEnded: return on_main_ended(message.wait_status, message.leftover != 0);
    case LinkMessage::Kind::kParked:
      guest_parked_ = true;
      parked_on_ = message.processor;
      return;
    default: return;  // what only a nest says
  }
}

void Box::fail_making(Stage stage, int errno_value) {
  if (ended_.stage == 0) {
    ended_.stage = static_cast<std::uint32_t>(stage);
    ended_.errno_value = static_cast<std::uint32_t>(errno_value);
  }
  end(EndCause::kSetupFailed);
}

void Box::on_main_ended(int wait_status, bool leftover) {
  const sys::ExitStatus status = sys::exit_status_of(wait_status);
  ended_.has_status = 1;
  ended_.exit_code = static_cast<std::uint32_t>(status.code.value_or(0));
  ended_.signal = static_cast<std::uint32_t>(status.signal.value_or(0));
  ended_.leftover_processes = leftover ? 1 : 0;
}

std::uint64_t Box::cpu_us() const {
  const std::uint64_t used = cell_.groups.cpu_us();
  return used - std::min(used, cpu_base_us_);
}

void Box::fill_usage(Instant at) {
  const GroupUsage usage = cell_.groups.usage();
  ended_.wall_us = running_ ? micros_between(started_at_, frozen_at_.value_or(at)) : 0;
  ended_.cpu_us = usage.cpu_us - std::min(usage.cpu_us, cpu_base_us_);
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

// A box of a nest is no child of ours: the nest says when its init was reaped, which comes after all in its
// pid namespace have ended (zap_pid_ns_processes) and after what the nest says of the guest.
bool Box::init_has_ended(std::uint64_t& minor_faults) {
  if (!cell_.init) return false;
  if (nest_ != nullptr) {
    minor_faults = guest_faults_;
    return init_reaped_;
  }
  siginfo_t info{};
  rusage used{};
  // The system call has a fifth argument that the library's waitid hides: what the tree used.
  if (::syscall(SYS_waitid, kWaitByPidfd, cell_.init.get(), &info, WEXITED | WNOHANG, &used) < 0 ||
      info.si_pid == 0) {
    return false;
  }
  minor_faults = static_cast<std::uint64_t>(used.ru_minflt);
  return true;
}

void Box::on_init_ended(Instant at) {
  std::uint64_t minor_faults = 0;
  if (!init_has_ended(minor_faults)) return;
  on_link();  // what it said before it ended
  cell_.init.reset();
  dead_ = true;
  fill_usage(at);
  // Of one that parked by itself they cannot be told apart from those before.
  ended_.minor_faults = spec_.parks != 0 ? 0 : minor_faults;
  if (cause_) {
    ended_.cause = *cause_;
  } else if (ended_.oom_kills > 0) {
    ended_.cause = EndCause::kMemory;
  } else {
    ended_.cause = ended_.has_status != 0 ? EndCause::kProgram : EndCause::kLost;
  }
}

void Box::on_events(Instant at) {
  if (dead_) return;
  if (const sys::Fd* event = cell_.groups.oom_event()) {
    eventfd_t count = 0;
    // The kernel could not free memory inside the box and is about to kill one process: the run is
    // over. The event comes before the kill is counted, so the count is looked at again soon.
    if (::eventfd_read(event->get(), &count) == 0) {
      oom_seen_ = true;
      next_cpu_check_ = at;
    }
  }
  on_link();
  on_guest_link();
  on_init_ended(at);
  check_limits(at);
}

std::optional<frame::BoxStarted> Box::take_started() {
  if (!started_ || started_taken_) return std::nullopt;
  started_taken_ = true;
  frame::BoxStarted message;
  message.header.box = id_;
  message.walls_on = walls_on_;
  message.outside_id = outside_id_;
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
    int result =
        ::setns((nest_ != nullptr ? nest_->user_namespace() : cell_.user_namespace).get(), CLONE_NEWUSER) < 0
            ? errno
            : 0;
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
  if (gone_) return *gone_;
  const Instant begun = now();
  frame::BoxGone gone;
  gone.header.box = id_;
  making_.reset();
  guest_link_.reset();
  if (cell_.init) {
    cell_.kill();
    // The end of the init is the end of its pid namespace: the kernel lets it be reaped only when
    // every other process inside is gone. pid_namespaces(7).
    std::uint64_t minor_faults = 0;
    auto ready = sys::wait_readable(cell_.init, deadline);
    if (ready && *ready && (nest_ != nullptr || init_has_ended(minor_faults))) cell_.init.reset();
  }
  bool reaped = !cell_.init;
  if (nest_ != nullptr && init_nest_pid_ != 0 && !init_reaped_ && !nest_->dead())
    reaped = reaped && nest_->wait_reaped(init_nest_pid_, deadline);
  gone.init_reaped = reaped ? 1 : 0;
  cell_.end_groups(gone, deadline);
  layer_.reset();
  gone.layer_released = 1;
  gone.destroyed = gone.init_reaped & gone.groups_empty & gone.groups_removed & gone.layer_released;
  gone.teardown_us = micros_between(begun, now());
  return gone;
}

}  // namespace casemate::jail
