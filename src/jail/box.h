// One box as the warden sees it: made, watched, ended, its layer read, destroyed with proof.
//
// One thread. The owner polls the descriptors of watch() and calls on_events() when one is readable
// or next_deadline() has passed; every call returns at once but make() (some milliseconds of set-up)
// and destroy() (bounded by its deadline).
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "frame/warden.h"
#include "jail/cgroup.h"
#include "jail/child.h"
#include "jail/instance.h"
#include "jail/seccomp.h"
#include "sys/fd.h"

namespace casemate::jail {

// What is the same for all boxes of a warden.
struct Host {
  std::uint32_t instance = 0;
  CgroupLayout cgroups;
  IdRange ids;
  std::uint32_t landlock = landlock_abi();
  bool no_cgroup = false;  // the weakening
};

// The descriptors that come with a MakeBox, in the order of the protocol.
struct BoxFds {
  sys::Fd image, guest, stdin_fd, stdout_fd, stderr_fd, control;
};

// A step of set-up that failed before the warden was done, and what became of what had been made.
struct SetupFailure {
  Stage stage = Stage::kNone;
  Error error;
  frame::BoxGone gone;
};

class Box {
 public:
  // `slot` is the inside id of the guest, 1 to Host::ids.count, leased by the caller.
  static std::unique_ptr<Box> make(const Host& host, const frame::MakeBox& spec, BoxFds fds,
                                   std::uint32_t slot, SetupFailure& failure);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  std::uint64_t id() const { return id_; }
  std::uint32_t slot() const { return slot_; }
  bool dead() const { return dead_; }

  void watch(std::vector<pollfd>& items) const;
  std::optional<Instant> next_deadline() const;

  // Takes what happened. Each of the two messages is handed out once, when its time has come.
  void on_events(Instant at);
  std::optional<frame::BoxStarted> take_started();
  std::optional<frame::BoxEnded> take_ended();

  // Kills the box for this cause, unless it has ended or another cause came first.
  void end(frame::EndCause cause);

  // A regular file of the layer, by its path beneath it; for a dead box. 0 and the descriptor, or errno.
  int open_file(const std::string& path, sys::Fd& file) const;

  // Kills what may still live and proves that nothing is left.
  frame::BoxGone destroy(Deadline deadline);

 private:
  explicit Box(const Host& host) : host_(host) {}
  // The nest's init, in new namespaces. Does not return in the child.
  Result<void> clone_init(const Plan& plan, const SourceTrees& trees);
  void on_link();
  void on_init_ended(Instant at);
  void check_limits(Instant at);
  void fill_usage(Instant at);
  void kill() const;
  Instant wall_end() const;

  const Host& host_;
  std::uint64_t id_ = 0;
  std::uint32_t slot_ = 0;
  frame::MakeBox spec_;
  // Destroyed bottom-up: the init is killed, then its groups are removed, then the layer is let go.
  sys::Fd layer_;
  sys::Fd user_namespace_;
  BoxGroups groups_;
  sys::Fd link_;
  sys::Fd init_;  // pidfd
  int init_pid_ = -1;

  Instant made_at_{};
  Instant started_at_{};
  Instant next_cpu_check_{};
  bool dead_ = false;
  bool oom_seen_ = false;
  bool started_ = false, started_taken_ = false, ended_taken_ = false;
  std::optional<frame::EndCause> cause_;
  frame::BoxEnded ended_;
  std::uint64_t walls_on_ = 0;
};

}  // namespace casemate::jail
