#include "jail/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace casemate::jail {
namespace {

// On v1: of the memory limit, and on top of it.
constexpr std::uint64_t kSocketBuffersShare = 16;
// cgroup.procs: a line of up to eight bytes for each of the 32768 processes that a box may have.
constexpr std::size_t kMembersFileMax = 512 << 10;

std::uint64_t parse_number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The start of a control file, in one read: each that is read with it is far shorter, and every system call
// of it counts between a program's end and its answer. Empty for a file that does not exist.
std::string_view read_short(const sys::Fd& directory, const char* name, std::span<char> buffer) {
  const sys::Fd file(::openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
  return got > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(got)) : std::string_view();
}

// 0 for a file that does not exist (an older kernel) or says "max".
std::uint64_t read_number(const sys::Fd& directory, const char* name) {
  std::array<char, 64> buffer{};
  return parse_number(read_short(directory, name, buffer));
}

// The number behind "key " in a flat-keyed file; 0 when it is not there.
std::uint64_t read_keyed(const sys::Fd& directory, const char* name, std::string_view key) {
  std::array<char, 1024> buffer{};
  std::string_view rest = read_short(directory, name, buffer);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line.size() > key.size() && line.substr(0, key.size()) == key && line[key.size()] == ' ') {
      return parse_number(line.substr(key.size() + 1));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return 0;
}

Result<void> write_limit(const sys::Fd& directory, const char* name, const std::string& value) {
  return sys::write_file_at(directory.get(), name, value);
}

// SIGKILL to every process in a v1 group. A pid cannot be recycled into another process between the
// read and the signal without leaving the group, so membership is read again after the pidfd is open.
void kill_members(const sys::Fd& directory) {
  const auto members = sys::read_file_at(directory.get(), "cgroup.procs", kMembersFileMax);
  if (!members) return;
  std::string_view rest = *members;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const int pid = static_cast<int>(parse_number(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pid <= 1) continue;
    const sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) continue;
    const auto again = sys::read_file_at(directory.get(), "cgroup.procs", kMembersFileMax);
    const std::string needle = std::to_string(pid) + "\n";
    if (again && (again->starts_with(needle) || again->find("\n" + needle) != std::string::npos)) {
      (void)::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);  // ESRCH: dead already
    }
  }
}

bool has_members(const sys::Fd& directory) {
  const auto members = sys::read_file_at(directory.get(), "cgroup.procs", kMembersFileMax);
  if (!members) return members.error().code == ErrorCode::kExhausted;  // else it is gone already
  return !members->empty();
}

// Kills, waits for emptiness, removes. The directory's own descriptor stays open until here: a group
// can be removed while one is held.
BoxGroups::End end_group(const sys::Fd& directory, const std::string& path, bool v2, Deadline deadline) {
  BoxGroups::End result;
  for (int round = 0;; ++round) {
    if (has_members(directory)) {
      if (!v2 || !sys::write_file_at(directory.get(), "cgroup.kill", "1")) kill_members(directory);
      // On v1 who stands still does not die before it is let go on.
      if (!v2) (void)sys::write_file_at(directory.get(), "freezer.state", "THAWED");
    } else {
      result.empty = true;
      if (::rmdir(path.c_str()) == 0 || errno == ENOENT) {
        result.removed = true;
        return result;
      }
    }
    if (deadline.passed(now())) return result;
    // No event tells that a dying task has left a v1 group: look again after a pause that grows.
    (void)::poll(nullptr, 0, std::min(round + 1, 20));
  }
}

}  // namespace

std::string group_name(std::uint32_t instance, std::uint64_t box) {
  return "casemate.i" + std::to_string(instance) + ".b" + std::to_string(box);
}

const BoxGroups::Group* BoxGroups::group_of(Controller controller) const {
  for (const Group& group : groups_) {
    if (std::find(group.controllers.begin(), group.controllers.end(), controller) !=
        group.controllers.end()) {
      return &group;
    }
  }
  return nullptr;
}

Result<BoxGroups> BoxGroups::create(const CgroupLayout& layout, const std::string& name) {
  BoxGroups groups;
  for (const CgroupBase& base : layout.bases) {
    Group group;
    group.path = base.path + "/" + name;
    group.v2 = base.v2;
    group.controllers = base.controllers;
    if (::mkdir(group.path.c_str(), 0755) < 0) return fail_errno("make the control group " + group.path);
    auto directory = sys::open_at(AT_FDCWD, group.path, O_RDONLY | O_DIRECTORY);
    if (!directory) {
      (void)::rmdir(group.path.c_str());  // it is empty: made a moment ago
      return tl::unexpected<Error>(directory.error());
    }
    group.directory = std::move(*directory);
    groups.groups_.push_back(std::move(group));
  }
  return groups;
}

BoxGroups::~BoxGroups() {
  if (!groups_.empty()) (void)end(Deadline::in(milliseconds{2000}));
}

Result<void> BoxGroups::set_limits(const GroupLimits& limits) {
  if (const Group* memory = group_of(Controller::kMemory); memory != nullptr && limits.memory) {
    const std::string bytes = std::to_string(limits.memory_max_bytes);
    if (memory->v2) {
      TRY(write_limit(memory->directory, "memory.max", bytes));
      TRY(write_limit(memory->directory, "memory.oom.group", "1"));
      // Absent where the kernel has no swap accounting: then there is no swap to limit either.
      (void)write_limit(memory->directory, "memory.swap.max", "0");
    } else {
      TRY(write_limit(memory->directory, "memory.limit_in_bytes", bytes));
      (void)write_limit(memory->directory, "memory.memsw.limit_in_bytes", bytes);  // likewise
      // v1 counts the buffers of TCP and UDP apart from all other memory and leaves them without a limit.
      const std::string buffers = std::to_string(limits.memory_max_bytes / kSocketBuffersShare);
      if (auto done = write_limit(memory->directory, "memory.kmem.tcp.limit_in_bytes", buffers);
          !done && done.error().errno_value != ENOENT) {
        return done;
      }
      sys::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!event) return fail_errno("eventfd");
      const sys::Fd control = TRY(sys::open_at(memory->directory.get(), "memory.oom_control", O_RDONLY));
      TRY(sys::write_file_at(memory->directory.get(), "cgroup.event_control",
                             std::to_string(event.get()) + " " + std::to_string(control.get())));
      oom_event_ = std::move(event);
    }
  }
  if (const Group* pids = group_of(Controller::kPids); pids != nullptr && limits.pids) {
    // The nest's init is in the group too and is not the program's.
    TRY(write_limit(pids->directory, "pids.max", std::to_string(limits.pids_max + 1)));
  }
  if (const Group* cpu = group_of(Controller::kCpu); cpu != nullptr && limits.cpu) {
    constexpr std::uint64_t kPeriodUs = 100'000;
    const std::string quota = std::to_string(kPeriodUs * limits.cpus_milli / 1000);
    if (cpu->v2) {
      TRY(write_limit(cpu->directory, "cpu.max", quota + " " + std::to_string(kPeriodUs)));
    } else {
      TRY(write_limit(cpu->directory, "cpu.cfs_quota_us", quota));
    }
  }
  return {};
}

Result<std::vector<sys::Fd>> BoxGroups::open_task_files() const {
  std::vector<sys::Fd> files;
  for (const Group& group : groups_) {
    if (!group.v2) files.push_back(TRY(sys::open_at(group.directory.get(), "tasks", O_WRONLY)));
  }
  return files;
}

Result<void> BoxGroups::attach(int pid) const {
  for (const Group& group : groups_) {
    if (group.v2) TRY(sys::write_file_at(group.directory.get(), "cgroup.procs", std::to_string(pid)));
  }
  return {};
}

void BoxGroups::set_share(Share share) const {
  const Group* cpu = group_of(Controller::kCpu);
  if (cpu == nullptr) return;
  const bool running = share == Share::kRunning;
  // Both scales have the kernel's usual value for one that runs, and a tenth of it.
  (void)sys::write_file_at(cpu->directory.get(), cpu->v2 ? "cpu.weight" : "cpu.shares",
                           cpu->v2 ? (running ? "100" : "10") : (running ? "1024" : "102"));
}

void BoxGroups::forget_peaks() const {
  const Group* memory = group_of(Controller::kMemory);
  // v2 forgets per open file (Linux 6.12), which is of no use here; a peak is then "at most since the fork".
  if (memory != nullptr && !memory->v2)
    (void)sys::write_file_at(memory->directory.get(), "memory.max_usage_in_bytes", "0");
}

std::uint64_t BoxGroups::memory_now() const {
  const Group* memory = group_of(Controller::kMemory);
  if (memory == nullptr) return 0;
  return read_number(memory->directory, memory->v2 ? "memory.current" : "memory.usage_in_bytes");
}

std::uint64_t BoxGroups::members() const {
  const Group* pids = group_of(Controller::kPids);
  return pids == nullptr ? 0 : read_number(pids->directory, "pids.current");
}

Result<void> BoxGroups::freeze(bool stop) const {
  if (const Group* unified = group_of(Controller::kUnified))
    return sys::write_file_at(unified->directory.get(), "cgroup.freeze", stop ? "1" : "0");
  if (const Group* freezer = group_of(Controller::kFreezer))
    return sys::write_file_at(freezer->directory.get(), "freezer.state", stop ? "FROZEN" : "THAWED");
  return fail(ErrorCode::kUnavailable, "this host has no control group that can stop a box");
}

int BoxGroups::unified_fd() const {
  const Group* unified = group_of(Controller::kUnified);
  return unified == nullptr ? -1 : unified->directory.get();
}

BoxGroups::Source BoxGroups::source_of(frame::UsageFile which) const {
  using frame::UsageFile;
  const Group* memory = group_of(Controller::kMemory);
  const Group* pids = group_of(Controller::kPids);
  switch (which) {
    case UsageFile::kCpu:
      if (const Group* unified = group_of(Controller::kUnified))
        return {&unified->directory, "cpu.stat", "usage_usec"};
      if (const Group* accounting = group_of(Controller::kCpuAcct))
        return {&accounting->directory, "cpuacct.usage", "", 1000};
      return {};
    case UsageFile::kMemoryPeak:
      if (memory == nullptr) return {};
      return {&memory->directory, memory->v2 ? "memory.peak" : "memory.max_usage_in_bytes"};
    case UsageFile::kOomKills:
      if (memory == nullptr) return {};
      return {&memory->directory, memory->v2 ? "memory.events" : "memory.oom_control", "oom_kill"};
    case UsageFile::kPidsRefused:
      if (pids == nullptr) return {};
      return {&pids->directory, "pids.events", "max"};
    case UsageFile::kPidsPeak:
      if (pids == nullptr) return {};
      return {&pids->directory, "pids.peak"};
    case UsageFile::kCount: break;
  }
  return {};
}

std::uint64_t BoxGroups::read(frame::UsageFile which) const {
  const Source source = source_of(which);
  if (source.directory == nullptr) return 0;
  const std::string_view key = source.key;
  const std::uint64_t number = key.empty() ? read_number(*source.directory, source.file)
                                           : read_keyed(*source.directory, source.file, key);
  return number / source.per_unit;
}

std::uint64_t BoxGroups::cpu_us() const { return read(frame::UsageFile::kCpu); }
std::uint64_t BoxGroups::oom_kills() const { return read(frame::UsageFile::kOomKills); }

GroupUsage BoxGroups::usage() const {
  using frame::UsageFile;
  GroupUsage usage;
  usage.cpu_us = read(UsageFile::kCpu);
  usage.oom_kills = read(UsageFile::kOomKills);
  usage.memory_peak_bytes = read(UsageFile::kMemoryPeak);
  usage.pids_refused = read(UsageFile::kPidsRefused);
  usage.pids_peak = read(UsageFile::kPidsPeak);
  return usage;
}

BoxGroups::End BoxGroups::end(Deadline deadline) {
  End total{true, true};
  for (Group& group : groups_) {
    const End one = end_group(group.directory, group.path, group.v2, deadline);
    total.empty = total.empty && one.empty;
    total.removed = total.removed && one.removed;
  }
  groups_.clear();
  oom_event_.reset();
  return total;
}

Result<std::uint32_t> remove_groups_of_instance(const std::vector<std::string>& base_paths,
                                                std::uint32_t instance, Deadline deadline) {
  const std::string prefix = "casemate.i" + std::to_string(instance) + ".";
  std::uint32_t removed = 0;
  for (const std::string& base : base_paths) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(base.c_str()), ::closedir);
    if (!listing && errno == ENOENT) continue;  // the base itself is gone, and all below it
    if (!listing) return fail_errno("look for control groups in " + base);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing.get())) {
      if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
    }
    for (const std::string& name : names) {
      const std::string path = base + "/" + name;
      const auto directory = sys::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
      if (!directory && directory.error().errno_value == ENOENT) continue;  // it has gone in between
      if (!directory) return tl::unexpected<Error>(directory.error());
      const bool v2 = ::faccessat(directory->get(), "cgroup.kill", F_OK, 0) == 0;
      const BoxGroups::End end = end_group(*directory, path, v2, deadline);
      if (!end.removed) {
        return fail(ErrorCode::kSystem, "the control group " + path + " of a dead instance " +
                                            (end.empty ? "cannot be removed" : "still has processes"));
      }
      ++removed;
    }
  }
  return removed;
}

}  // namespace casemate::jail
