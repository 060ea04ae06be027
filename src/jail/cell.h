// What a box and a nest each have one of: control groups, and an init in namespaces of its own.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "frame/warden.h"
#include "jail/cgroup.h"
#include "jail/instance.h"
#include "jail/plan.h"
#include "sys/fd.h"

namespace casemate::jail {

// What is the same for all boxes of a warden.
struct Host {
  std::uint32_t instance = 0;
  CgroupLayout cgroups;
  IdRange ids;
  std::uint32_t landlock = 0;
  bool no_cgroup = false;  // the weakening
};

// A step of set-up that failed before the warden was done, and what became of what had been made.
struct SetupFailure {
  Stage stage = Stage::kNone;
  Error error;
  frame::BoxGone gone;
};

// Runs the warden's own steps. After one has failed the others do nothing.
class Steps {
 public:
  Steps(const Plan& plan, SetupFailure& failure) : plan_(plan), failure_(failure) {}
  template <typename Action>
  void run(Stage stage, Action action) {
    if (!ok_) return;
    Result<void> done = fails_here(plan_, stage) ? Result<void>(fail_errno("injected", EIO)) : action();
    if (done) return;
    failure_ = SetupFailure{stage, done.error(), {}};
    ok_ = false;
  }
  bool ok() const { return ok_; }

 private:
  const Plan& plan_;
  SetupFailure& failure_;
  bool ok_ = true;
};

struct Cell {
  // Destroyed bottom-up: the init is killed, then its groups are removed.
  sys::Fd user_namespace;
  BoxGroups groups;
  sys::Fd link;  // to the init; non-blocking
  sys::Fd init;  // its pidfd
  int init_pid = -1;

  // Makes the link. The other end, for the init.
  Result<sys::Fd> make_link();
  // Clones the init into new namespaces and writes its id maps. Does not return in the child.
  Result<void> clone_init(const Plan& plan, const SourceTrees& trees);
  // Writes the maps and tells the init.
  void map_ids(const IdRange& ids, Steps& steps) const;
  void kill() const;
  // After its init was reaped or taken for lost: what is left goes.
  void end_groups(frame::BoxGone& gone, Deadline deadline);
};

}  // namespace casemate::jail
