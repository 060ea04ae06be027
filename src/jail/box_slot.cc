// A box as a slot of a nest: see box.h, and nest_server.cc for what happens on the other side.
//
//   warden ── plan ──▶ nest's init: clones the slot's init        ──▶ kSlotMade
//   warden: moves it into the v2 groups, says go
//   slot's init: builds the tree, hands the layer out             ──▶ kLayer
//   warden ── plan ──▶ zygote: forks a guest into its namespaces  ──▶ kForked
//   warden: moves that one too, says go
//   guest: drops everything, rehearses                            ──▶ kParked
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "jail/box.h"
#include "jail/box_plan.h"

namespace casemate::jail {
namespace {

using frame::EndCause;

// From the request to a parked box; of a machine, whose kernel and guest may be emulated.
constexpr milliseconds kMakeTime{20'000};
constexpr milliseconds kMachineMakeTime{40'000};

// The pid of the process that a pidfd stands for, in our own namespace: the line "Pid:" of its fdinfo (Linux
// 5.5). 0 when it has ended.
int pid_of(const sys::Fd& pidfd) {
  const auto text =
      sys::read_file_at(AT_FDCWD, "/proc/self/fdinfo/" + std::to_string(pidfd.get()), std::size_t{4} << 10);
  if (!text) return 0;
  const std::size_t at = text->find("Pid:\t");
  if (at == std::string::npos) return 0;
  int pid = 0;
  std::from_chars(text->data() + at + 5, text->data() + text->size(), pid);
  return std::max(pid, 0);
}

// The minor faults of a process until now: field 10 of its stat, proc(5). 0 when it has ended.
std::uint64_t minor_faults_of(int pid) {
  const auto text =
      sys::read_file_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat", std::size_t{4} << 10);
  if (!text) return 0;
  std::size_t at = text->rfind(')');  // its name may hold anything, and ends here
  for (int field = 2; field < 10 && at != std::string::npos; ++field) at = text->find(' ', at + 1);
  std::uint64_t faults = 0;
  if (at != std::string::npos) std::from_chars(text->data() + at + 1, text->data() + text->size(), faults);
  return faults;
}

// The one processor that a process may use; -1 where there are several.
int only_processor_of(int pid) {
  cpu_set_t may;
  CPU_ZERO(&may);
  if (::sched_getaffinity(pid, sizeof(may), &may) < 0 || CPU_COUNT(&may) != 1) return -1;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &may)) return static_cast<int>(cpu);
  }
  return -1;
}

// Which pid namespace a process is in; 0 when that cannot be told.
ino_t pid_namespace_of(int pid) {
  struct stat status {};
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/pid";
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

milliseconds Box::make_time() const {
  return spec_.rung == frame::Rung::kMicrovm ? kMachineMakeTime : kMakeTime;
}

void Box::make_in_nest(const Plan& plan, BoxFds fds, std::vector<sys::Fd> task_files, Steps& steps) {
  running_ = false;
  cell_.groups.set_share(BoxGroups::Share::kPreparing);
  making_ = std::make_unique<Making>();
  making_->request.token = id_;
  making_->request.plan = plan;
  making_->request.plan.role = Role::kSlot;
  making_->fds = std::move(fds);
  making_->task_files = std::move(task_files);
  sys::Fd init_end, devices;
  steps.run(Stage::kMakeLink, [&]() -> Result<void> {
    init_end = TRY(cell_.make_link());
    sys::Pair guest = TRY(sys::make_seqpacket_pair());
    TRY(sys::set_nonblocking(guest.first));
    guest_link_ = std::move(guest.first);
    making_->guest_end = std::move(guest.second);
    return {};
  });
  steps.run(Stage::kMakeDevices, [&]() -> Result<void> {
    devices = TRY(own_devices(nest_ids(host_, plan), plan));
    making_->request.plan.devices_fd = devices.get();
    return {};
  });
  walls_on_ = walls_on(host_, making_->request.plan);
  steps.run(Stage::kClone, [&] {
    std::vector<int> sent = {init_end.get(), making_->fds.stdout_fd.get(), making_->fds.stderr_fd.get()};
    for (const sys::Fd& file : making_->task_files) sent.push_back(file.get());
    if (devices) sent.push_back(devices.get());
    return nest_->ask_init(making_->request, sent);
  });
  if (!steps.ok()) making_.reset();
}

bool Box::on_nest(NestEvent& event) {
  const LinkMessage& message = event.message;
  switch (message.kind) {
    case LinkMessage::Kind::kSlotMade:
      if (message.token != id_) return false;
      on_slot_made(event);
      return true;
    case LinkMessage::Kind::kForked:
      if (message.token != id_) return false;
      on_forked(event);
      return true;
    case LinkMessage::Kind::kReaped:
      if (message.pid == init_nest_pid_ && init_nest_pid_ != 0) {
        init_reaped_ = true;
        return true;
      }
      if (message.pid != guest_nest_pid_ || guest_nest_pid_ == 0) return false;
      guest_faults_ = message.minor_faults - std::min(message.minor_faults, fault_base_);
      on_guest_link();  // what it said before it ended
      if (!guest_parked_) fail_making(Stage::kExec, ECHILD);
      on_main_ended(message.wait_status, cell_.groups.members() > 1);
      if (kTestBuild && (spec_.walls_off & frame::wall_bit(Wall::kKillTree)) != 0) {
        cell_.link.reset();  // its init is to wait for the others
      } else {
        cell_.kill();  // the end of the program is the end of its tree
      }
      return true;
    default: return false;
  }
}

void Box::on_slot_made(NestEvent& event) {
  if (event.message.errno_value != 0 || !event.fd) {
    fail_making(Stage::kClone, event.message.errno_value != 0 ? event.message.errno_value : EPROTO);
    return;
  }
  init_nest_pid_ = event.message.pid;
  cell_.init = std::move(event.fd);
  cell_.init_pid = pid_of(cell_.init);
  if (cause_) return cell_.kill();  // ended while it was made
  if (cell_.init_pid == 0) return fail_making(Stage::kClone, ESRCH);
  if (auto attached = cell_.groups.attach(cell_.init_pid); !attached)
    return fail_making(Stage::kAttach, attached.error().errno_value);
  if (!sys::send_message(cell_.link, "m", {})) fail_making(Stage::kSayMapped, EPIPE);
}

void Box::ask_for_guest() {
  if (cause_ || !making_) return;
  std::vector<int> sent = {cell_.init.get(),
                           making_->guest_end.get(),
                           making_->fds.stdin_fd.get(),
                           making_->fds.stdout_fd.get(),
                           making_->fds.stderr_fd.get(),
                           making_->fds.control.get()};
  for (const sys::Fd& file : making_->task_files) sent.push_back(file.get());
  if (!nest_->ask_zygote(making_->request, sent)) fail_making(Stage::kFork, EPIPE);
}

void Box::on_forked(NestEvent& event) {
  making_.reset();
  if (event.message.errno_value != 0 || !event.fd)
    return fail_making(Stage::kFork, event.message.errno_value != 0 ? event.message.errno_value : EPROTO);
  guest_nest_pid_ = event.message.pid;
  if (cause_) return;  // its namespace is being ended, and it with it
  const int pid = pid_of(event.fd);
  // stops: a zygote gone wrong from having another process charged, and started, as this box's guest
  const ino_t own = pid == 0 ? 0 : pid_namespace_of(pid);
  if (own == 0 || own != pid_namespace_of(cell_.init_pid)) return fail_making(Stage::kFork, ESRCH);
  guest_pid_ = pid;
  if (auto attached = cell_.groups.attach(pid); !attached)
    return fail_making(Stage::kAttach, attached.error().errno_value);
  if (!sys::send_message(guest_link_, "m", {})) fail_making(Stage::kFork, EPIPE);
}

void Box::on_guest_link() {
  while (guest_link_) {
    auto message = sys::receive_message(guest_link_, sizeof(LinkMessage));
    if (!message && message.error().errno_value == EAGAIN) return;
    if (!message || message->bytes.size() != sizeof(LinkMessage)) return guest_link_.reset();
    LinkMessage said;
    std::memcpy(&said, message->bytes.data(), sizeof(said));
    take(said, {});
    if (!guest_parked_) continue;
    guest_link_.reset();
    fault_base_ = minor_faults_of(guest_pid_);
    return become_parked();
  }
}

void Box::park() {
  if (nest_ != nullptr || !init_ready_ || cause_ || dead_) return;
  if (parked_taken_) {
    running_ = false;
    return begin_usage();
  }
  if (running_ || guest_parked_) return;
  guest_parked_ = true;
  parked_on_ = only_processor_of(cell_.init_pid);
  become_parked();
}

// What the box uses from here on is its run's.
void Box::begin_usage() {
  cpu_base_us_ = cell_.groups.cpu_us();
  cell_.groups.forget_peaks();
}

void Box::become_parked() {
  wall_timer_ = sys::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!wall_timer_) return fail_making(Stage::kFork, errno);
  begin_usage();
  cell_.groups.set_share(BoxGroups::Share::kRunning);
}

std::optional<frame::BoxParked> Box::take_parked(std::vector<sys::Fd>& fds) {
  if (!guest_parked_ || !init_ready_ || parked_taken_ || cause_ || dead_) return std::nullopt;
  parked_taken_ = true;
  frame::BoxParked message;
  message.header.box = id_;
  message.walls_on = walls_on_;
  message.outside_id = outside_id_;
  message.setup_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now() - made_at_).count());
  message.memory_bytes = cell_.groups.memory_now();
  message.processor = parked_on_;
  message.cpu_base_us = cpu_base_us_;
  // Descriptors of its own: what the engine closes stays open here.
  fds.emplace_back(::fcntl(wall_timer_.get(), F_DUPFD_CLOEXEC, 0));
  fds.emplace_back(::fcntl(layer_.get(), F_DUPFD_CLOEXEC, 0));
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(frame::UsageFile::kCount); ++i) {
    const BoxGroups::Source source = cell_.groups.source_of(static_cast<frame::UsageFile>(i));
    if (source.directory == nullptr) continue;
    sys::Fd file(::openat(source.directory->get(), source.file, O_RDONLY | O_CLOEXEC));
    if (!file) continue;  // an older kernel
    fds.push_back(std::move(file));
    message.usage_files |= 1U << i;
    const std::string_view key = source.key;
    std::copy_n(key.data(), std::min(key.size(), frame::kUsageKeySize - 1),
                message.usage_keys.begin() + i * frame::kUsageKeySize);
    if (i == static_cast<std::uint32_t>(frame::UsageFile::kCpu)) message.cpu_per_us = source.per_unit;
  }
  return message;
}

void Box::leave_nest(const frame::BoxGone& gone) {
  if (!dead_) {
    fill_usage(now());
    ended_.cause = cause_.value_or(EndCause::kLost);
    dead_ = true;
  }
  gone_ = gone;
  nest_ = nullptr;
}

bool Box::start(const frame::StartBox& message, Instant at) {
  if (!parked_taken_ || running_) return false;
  running_ = true;
  spec_.wall_max_ms = message.wall_max_ms;
  spec_.cpu_time_max_ms = message.cpu_time_max_ms;
  started_at_ = at - microseconds(std::min(message.running_us, message.wall_max_ms * 1000));
  next_cpu_check_ = started_at_ + milliseconds(spec_.cpu_time_max_ms) * 1000 / std::max(spec_.cpus_milli, 1U);
  return true;
}

}  // namespace casemate::jail
