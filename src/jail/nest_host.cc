#include "jail/nest_host.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "jail/box_plan.h"
#include "sys/process.h"

namespace casemate::jail {
namespace {

// The init, the zygote, the process that enters a slot, and an init and a guest before they have moved.
constexpr std::uint32_t kNestPidsMax = 64;
constexpr std::uint32_t kNestCpusMilli = 1000;

frame::MakeBox as_box(const frame::MakeNest& spec) {
  frame::MakeBox box;
  box.header.box = spec.header.box;
  box.memory_max_bytes = spec.memory_max_bytes;
  // Where the zygote keeps the caches of what it loads.
  box.disk_max_bytes = box.file_size_max_bytes = std::uint64_t{64} << 20;
  box.disk_inodes_max = 4096;
  box.wall_max_ms = box.cpu_time_max_ms = 3'600'000;  // a nest has none
  box.cpus_milli = kNestCpusMilli;
  box.pids_max = kNestPidsMax;
  box.open_files_max = 1024;
  box.walls_off = spec.walls_off;
  box.argument_count = spec.argument_count;
  box.environment_count = spec.environment_count;
  box.strings = spec.strings;
  return box;
}

// Of a zygote that said nothing itself.
std::string why_it_ended(int wait_status, bool out_of_memory) {
  const std::string what = "the zygote ended while it loaded what it was asked to";
  if (out_of_memory) return what + ": it ran out of the memory of its nest";
  const sys::ExitStatus status = sys::exit_status_of(wait_status);
  if (status.signal) return what + ": signal " + std::to_string(*status.signal);
  return what + ": exit code " + std::to_string(status.code.value_or(0));
}

}  // namespace

std::unique_ptr<Nest> Nest::make(const Host& host, const frame::MakeNest& spec, NestFds fds,
                                 SetupFailure& failure) {
  std::unique_ptr<Nest> nest(new Nest());
  nest->id_ = spec.header.box;
  nest->made_at_ = now();
  nest->ready_until_ = nest->made_at_ + milliseconds(std::min<std::uint64_t>(spec.ready_max_ms, 600'000));
  const frame::MakeBox box = as_box(spec);
  Plan plan;
  SourceTrees trees;
  Steps steps(plan, failure);
  steps.run(Stage::kLeaseId, [&]() -> Result<void> {
    if (host.ids.single) return fail(ErrorCode::kDenied, "boxes that share one user id are made one by one");
    trees = TRY(find_sources(fds.image, fds.guest));
    TRY(fill_plan(host, box, BoxFds{}, 0, plan));
    plan.role = Role::kNest;
    plan.affinity_count = 0;
    return {};
  });
  steps.run(Stage::kMakeGroups, [&]() -> Result<void> {
    if (!host.no_cgroup)
      nest->cell_.groups = TRY(BoxGroups::create(host.cgroups, group_name(host.instance, nest->id_)));
    return {};
  });
  steps.run(Stage::kSetLimits, [&] {
    return nest->cell_.groups.set_limits({box.memory_max_bytes, box.pids_max, box.cpus_milli});
  });
  std::vector<sys::Fd> task_files;
  sys::Fd child_end, zygote_end;
  steps.run(Stage::kMakeLink, [&]() -> Result<void> {
    task_files = TRY(nest->cell_.groups.open_task_files());
    for (const sys::Fd& file : task_files) plan.task_files.at(plan.task_file_count++) = file.get();
    child_end = TRY(nest->cell_.make_link());
    plan.link = child_end.get();
    sys::Pair pair = TRY(sys::make_seqpacket_pair());
    TRY(sys::set_nonblocking(pair.first));
    nest->zygote_link_ = std::move(pair.first);
    zygote_end = std::move(pair.second);
    plan.zygote_fd = zygote_end.get();
    return {};
  });
  steps.run(Stage::kClone, [&] { return nest->cell_.clone_init(plan, trees); });
  child_end.reset();
  zygote_end.reset();
  if (steps.ok()) nest->cell_.map_ids(nest_ids(host, plan), steps);
  if (steps.ok()) return nest;
  failure.gone = nest->destroy(Deadline::in(milliseconds{5000}));
  return nullptr;
}

Nest::~Nest() {
  if (cell_.init) (void)destroy(Deadline::in(milliseconds{5000}));
}

void Nest::watch(std::vector<pollfd>& items) const {
  if (dead_) return;
  items.push_back({cell_.init.get(), POLLIN, 0});
  if (cell_.link) items.push_back({cell_.link.get(), POLLIN, 0});
  if (zygote_link_) items.push_back({zygote_link_.get(), POLLIN, 0});
}

std::optional<Instant> Nest::next_deadline() const {
  if (dead_ || ready_ || !failure_.empty()) return std::nullopt;
  return ready_until_;
}

void Nest::fail_with(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  cell_.kill();
}

void Nest::take(const LinkMessage& message, std::vector<sys::Fd> fds) {
  using Kind = LinkMessage::Kind;
  const std::string text = frame::get_text(message.text);
  switch (message.kind) {
    case Kind::kSetupFailed:
      return fail_with(std::string(stage_text(message.stage)) + ": " + std::strerror(message.errno_value));
    case Kind::kZygoteStarted: zygote_pid_ = message.pid; return;
    case Kind::kZygoteReady:
      ready_ = true;
      ready_at_ = now();
      return;
    case Kind::kZygoteFailed: return fail_with(text);
    case Kind::kReaped:
      if (message.pid == zygote_pid_ && zygote_pid_ > 0) {
        zygote_pid_ = 0;
        zygote_link_.reset();
        if (!ready_) fail_with(why_it_ended(message.wait_status, cell_.groups.oom_kills() > 0));
        return;
      }
      break;
    default: break;
  }
  events_.push_back({message, fds.empty() ? sys::Fd() : std::move(fds.front())});
}

void Nest::on_link(sys::Fd& link) {
  while (link) {
    auto message = sys::receive_message(link, sizeof(LinkMessage));
    if (!message) {
      if (message.error().errno_value == ECONNRESET) continue;
      if (message.error().errno_value != EAGAIN) link.reset();
      return;
    }
    if (message->bytes.size() != sizeof(LinkMessage)) return link.reset();
    LinkMessage said;
    std::memcpy(&said, message->bytes.data(), sizeof(said));
    take(said, std::move(message->fds));
  }
}

void Nest::on_events(Instant at) {
  if (dead_) return;
  on_link(cell_.link);
  on_link(zygote_link_);
  if (!ready_ && at >= ready_until_) fail_with("the zygote did not get ready in time");
  siginfo_t info{};
  if (::waitid(static_cast<idtype_t>(3 /* P_PIDFD */), static_cast<id_t>(cell_.init.get()), &info,
               WEXITED | WNOHANG) == 0 &&
      info.si_pid != 0) {
    on_link(cell_.link);
    cell_.init.reset();
    dead_ = true;
    if (failure_.empty()) failure_ = "the nest ended";
  }
}

std::optional<frame::NestReady> Nest::take_ready() {
  if (!ready_ || ready_taken_) return std::nullopt;
  ready_taken_ = true;
  frame::NestReady message;
  message.header.box = id_;
  message.setup_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(ready_at_ - made_at_).count());
  return message;
}

std::optional<frame::ZygoteGone> Nest::take_zygote_gone() {
  if (!ready_ || zygote_pid_ != 0 || gone_taken_) return std::nullopt;
  gone_taken_ = true;
  frame::ZygoteGone message;
  message.header.box = id_;
  return message;
}

std::optional<std::string> Nest::take_failure() {
  if (!dead_ || failure_.empty()) return std::nullopt;
  return std::exchange(failure_, {});
}

Result<void> Nest::ask_init(const SlotRequest& request, std::span<const int> fds) const {
  return sys::send_message(cell_.link, frame::bytes_of(request), fds);
}

Result<void> Nest::ask_zygote(const SlotRequest& request, std::span<const int> fds) const {
  if (!zygote_link_) return fail(ErrorCode::kUnavailable, "the zygote is gone");
  return sys::send_message(zygote_link_, frame::bytes_of(request), fds);
}

bool Nest::reaped(int pid) const {
  return std::any_of(events_.begin(), events_.end(), [&](const NestEvent& event) {
    return event.message.kind == LinkMessage::Kind::kReaped && event.message.pid == pid;
  });
}

bool Nest::wait_reaped(int pid, Deadline deadline) {
  for (;;) {
    on_link(cell_.link);
    if (reaped(pid)) return true;
    if (!cell_.link || dead_) return false;
    const auto readable = sys::wait_readable(cell_.link, deadline);
    if (!readable || !*readable) return false;
  }
}

frame::BoxGone Nest::destroy(Deadline deadline) {
  const Instant begun = now();
  frame::BoxGone gone;
  gone.header.box = id_;
  if (cell_.init) {
    cell_.kill();
    siginfo_t info{};
    auto ready = sys::wait_readable(cell_.init, deadline);
    if (ready && *ready &&
        ::waitid(static_cast<idtype_t>(3 /* P_PIDFD */), static_cast<id_t>(cell_.init.get()), &info,
                 WEXITED | WNOHANG) == 0 &&
        info.si_pid != 0) {
      cell_.init.reset();
    }
  }
  gone.init_reaped = cell_.init ? 0 : 1;
  zygote_link_.reset();
  cell_.end_groups(gone, deadline);
  gone.layer_released = 1;
  gone.destroyed = gone.init_reaped & gone.groups_empty & gone.groups_removed;
  dead_ = true;
  gone.teardown_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now() - begun).count());
  return gone;
}

}  // namespace casemate::jail
