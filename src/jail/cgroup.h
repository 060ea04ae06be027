// Control groups of boxes, on cgroup v2, v1 and hybrid hosts: limits where the controllers are (v2
// if it has them, else v1), life and death on v2 wherever a v2 tree exists.
//
// Every group of ours is one directory named casemate.i<instance>.b<box> directly below a base: the
// group this process was started in where that can be used, else (root only) the hierarchy's top.
// The names alone tell recovery what belongs to which instance.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "frame/warden.h"
#include "sys/fd.h"

namespace casemate::jail {

enum class Controller : std::uint8_t { kMemory, kPids, kCpu, kCpuAcct, kFreezer, kUnified, kCount };

enum class CgroupKind : std::uint32_t { kNone = 0, kV1 = 1, kV2 = 2, kHybrid = 3 };

// One hierarchy's directory below which we make groups.
struct CgroupBase {
  std::string path;
  bool v2 = false;
  std::vector<Controller> controllers;  // what is controlled there
};

// What the host gives this process.
struct CgroupLayout {
  std::vector<CgroupBase> bases;  // distinct directories
  CgroupKind kind = CgroupKind::kNone;

  const CgroupBase* base_of(Controller controller) const;
};

// Finds the layout and, on a v2 host, makes it usable: moves this process (the warden) into a leaf of
// its own below the base and enables the controllers there, because a v2 group with processes of its
// own cannot have limited children.
// Errors: denied, with what to do (delegate a group, start through systemd-run), when memory, pids or
// cpu cannot be limited.
Result<CgroupLayout> find_cgroups(std::uint32_t instance);

struct GroupLimits {
  std::uint64_t memory_max_bytes = 0;
  std::uint32_t pids_max = 0;
  std::uint32_t cpus_milli = 0;
  bool memory = true, pids = true, cpu = true;  // off in test builds alone
};

struct GroupUsage {
  std::uint64_t memory_peak_bytes = 0;  // at least: what was touched before the attach is not in it
  std::uint64_t cpu_us = 0;
  std::uint64_t oom_kills = 0;
  std::uint64_t pids_refused = 0;
  std::uint64_t pids_peak = 0;
};

// The groups of one box. Move-only; the destructor kills what is inside and removes the directories,
// as far as that goes at once; end() does the same with a deadline and says what it achieved.
class BoxGroups {
 public:
  // Makes the directories. On an error those made are removed.
  static Result<BoxGroups> create(const CgroupLayout& layout, const std::string& name);
  BoxGroups() = default;
  BoxGroups(BoxGroups&&) noexcept = default;
  BoxGroups& operator=(BoxGroups&&) noexcept = default;
  ~BoxGroups();

  Result<void> set_limits(const GroupLimits& limits);
  // The v2 group, for CLONE_INTO_CGROUP (Linux 5.7), or -1.
  int unified_fd() const;
  // The `tasks` files of the v1 groups, open for writing, for a process to move itself with: a thread
  // that writes "0" there moves alone and at once, where moving another process waits for a grace
  // period of the kernel (7 ms measured; kernel/cgroup/cgroup.c, cgroup_procs_write_start).
  Result<std::vector<sys::Fd>> open_task_files() const;

  // Moves a process of a nest into the v2 groups; into the v1 groups it moves itself. Waits for a grace
  // period of the kernel now and then. Errors: system.
  Result<void> attach(int pid) const;
  // What is left of the processors for a box when others want them too. One that is being prepared for a run
  // to come yields to those that run. Best effort: it is no limit.
  enum class Share { kPreparing, kRunning };
  void set_share(Share share) const;
  // What is charged from now on is this box's own: the peak begins again where the kernel can do that.
  void forget_peaks() const;
  std::uint64_t memory_now() const;
  // Stops every process inside, or lets them go on. A process that is killed ends also while it stands still
  // on v2 (Linux 5.2, cgroup.freeze); on v1 it has to be let go on first. Errors: unavailable (no such
  // group).
  Result<void> freeze(bool stop) const;
  // Tasks that are in the groups.
  std::uint64_t members() const;

  // An eventfd that becomes readable when the kernel runs out of memory inside. Absent on v2, where
  // memory.oom.group ends the box by itself. Owned by this.
  const sys::Fd* oom_event() const { return oom_event_ ? &oom_event_ : nullptr; }
  // Where a number of usage() is read from; nothing where this host does not tell it.
  struct Source {
    const sys::Fd* directory = nullptr;
    const char* file = "";
    const char* key = "";        // the number stands behind it; "": the file is the number
    std::uint32_t per_unit = 1;  // of kCpu: so many to a microsecond
  };
  Source source_of(frame::UsageFile which) const;
  std::uint64_t cpu_us() const;
  std::uint64_t oom_kills() const;
  GroupUsage usage() const;

  // Kills every process inside, thaws, waits until no task is left and removes the directories.
  struct End {
    bool empty = false;
    bool removed = false;
  };
  End end(Deadline deadline);

 private:
  struct Group {
    std::string path;
    sys::Fd directory;
    bool v2 = false;
    std::vector<Controller> controllers;
  };
  const Group* group_of(Controller controller) const;
  std::uint64_t read(frame::UsageFile which) const;

  std::vector<Group> groups_;
  sys::Fd oom_event_;
};

// The name of a box's groups.
std::string group_name(std::uint32_t instance, std::uint64_t box);

// Kills and removes every group of an instance below the given bases (paths). The number removed.
// Errors: system (a group that could not be emptied or removed before the deadline: quarantine it).
Result<std::uint32_t> remove_groups_of_instance(const std::vector<std::string>& base_paths,
                                                std::uint32_t instance, Deadline deadline);

}  // namespace casemate::jail
