// One box as the warden sees it: made, watched, ended, its layer read, destroyed with proof. It is made
// whole at once, or it parks, and is then started with the time that its run may take: as a slot of a nest,
// or because its guest prepares itself.
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
#include "jail/cell.h"
#include "jail/nest_host.h"
#include "sys/fd.h"

namespace casemate::jail {

// The descriptors that come with a MakeBox, in the order of the protocol.
struct BoxFds {
  sys::Fd image, guest, stdin_fd, stdout_fd, stderr_fd, control;
  std::array<sys::Fd, frame::kRuntimeFilesMax> runtime;  // of a stronger rung
};

class Box {
 public:
  // `slot` is the inside id of the guest, 1 to Host::ids.count, leased by the caller.
  // `nest` is the one that the request names, or nullptr; it must outlive the box.
  static std::unique_ptr<Box> make(const Host& host, const frame::MakeBox& spec, BoxFds fds,
                                   std::uint32_t slot, Nest* nest, SetupFailure& failure);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  std::uint64_t id() const { return id_; }
  std::uint32_t slot() const { return slot_; }
  bool dead() const { return dead_; }

  void watch(std::vector<pollfd>& items) const;
  std::optional<Instant> next_deadline() const;

  // Takes what happened. Each of the messages is handed out once, when its time has come.
  void on_events(Instant at);
  // Takes what the nest's init or the zygote said, if it is about this box. True then.
  bool on_nest(NestEvent& event);
  Nest* nest() const { return nest_; }
  // It waits for its run, or has waited.
  bool parks() const { return nest_ != nullptr || spec_.parks != 0; }
  // It is parked and nothing has happened to it, which its nest would tell: it need not be looked at.
  bool idle() const {
    return nest_ != nullptr && parked_taken_ && !running_ && !cause_ && !dead_ && !init_reaped_ &&
           ended_.has_status == 0;
  }
  // destroy() would not have to wait.
  bool can_be_shown_gone() const {
    return dead_ && (nest_ == nullptr || init_reaped_ || init_nest_pid_ == 0);
  }
  // The nest ended, and this box with it, as `gone` shows.
  void leave_nest(const frame::BoxGone& gone);
  // The engine was told by the guest of a box that parks without a nest that it waits. Said again when
  // another run is to follow in the same box: what was used until then is not that one's.
  void park();
  // A parked box has been sent its program: its time runs. False when it is not parked.
  bool start(const frame::StartBox& message, Instant at);
  // What the engine sets when it sends the program: the owner polls it from take_parked() on and says when
  // it has expired.
  const sys::Fd& wall_timer() const { return wall_timer_; }
  void on_wall_timer() {
    if (wall_clock_on()) end(frame::EndCause::kWall);
  }
  std::optional<frame::BoxStarted> take_started();
  // With the descriptors of the message.
  std::optional<frame::BoxParked> take_parked(std::vector<sys::Fd>& fds);
  std::optional<frame::BoxEnded> take_ended();

  // Stops its processes and its clocks, or lets both go on; ended when that takes longer than `most`. False:
  // the clocks alone, since this host cannot stop processes. Nothing for one that does not run.
  bool freeze(Instant at, milliseconds most);
  void thaw(Instant at);

  // Kills the box for this cause, unless it has ended or another cause came first.
  void end(frame::EndCause cause);

  // A regular file of the layer, by its path beneath it; for a dead box. 0 and the descriptor, or errno.
  int open_file(const std::string& path, sys::Fd& file) const;

  // Kills what may still live and proves that nothing is left.
  frame::BoxGone destroy(Deadline deadline);

 private:
  explicit Box(const Host& host) : host_(host) {}
  void make_cold(const Plan& plan, BoxFds fds, Steps& steps);
  void make_in_nest(const Plan& plan, BoxFds fds, std::vector<sys::Fd> task_files, Steps& steps);
  void on_link();
  void on_guest_link();
  void become_parked();
  void begin_usage();
  void take(const LinkMessage& message, std::vector<sys::Fd> fds);
  void on_slot_made(NestEvent& event);
  void on_forked(NestEvent& event);
  void ask_for_guest();
  void fail_making(Stage stage, int errno_value);
  void on_init_ended(Instant at);
  bool init_has_ended(std::uint64_t& minor_faults);
  void on_main_ended(int wait_status, bool leftover);
  void check_limits(Instant at);
  void fill_usage(Instant at);
  std::uint64_t cpu_us() const;
  bool wall_clock_on() const;
  milliseconds make_time() const;
  Instant wall_end() const;

  const Host& host_;
  Nest* nest_ = nullptr;
  std::uint64_t id_ = 0;
  std::uint32_t slot_ = 0;
  frame::MakeBox spec_;
  // Destroyed bottom-up: the init is killed, then its groups are removed, then the layer is let go.
  sys::Fd layer_;
  Cell cell_;

  // Of a box in a nest. What its guest is made with is kept until there is one.
  struct Making {
    SlotRequest request;
    BoxFds fds;
    std::vector<sys::Fd> task_files;
    sys::Fd guest_end;
  };
  std::unique_ptr<Making> making_;
  sys::Fd guest_link_;  // to the guest, until it is parked
  sys::Fd wall_timer_;
  int init_nest_pid_ = 0, guest_nest_pid_ = 0;  // in the nest's namespace
  bool init_ready_ = false, guest_parked_ = false, parked_taken_ = false, running_ = true;
  std::int32_t parked_on_ = -1;
  bool init_reaped_ = false;
  std::uint64_t cpu_base_us_ = 0;                    // used before the run
  int guest_pid_ = 0;                                // in ours
  std::uint64_t guest_faults_ = 0, fault_base_ = 0;  // since it was parked; those before

  Instant made_at_{};
  Instant started_at_{};
  Instant next_cpu_check_{};
  std::optional<Instant> frozen_at_;  // it stands still since then,
  Instant frozen_until_{};            // and may do so until then
  bool dead_ = false;
  bool oom_seen_ = false;
  bool started_ = false, started_taken_ = false, ended_taken_ = false;
  std::optional<frame::EndCause> cause_;
  frame::BoxEnded ended_;
  std::uint64_t walls_on_ = 0, outside_id_ = 0;
  std::optional<frame::BoxGone> gone_;  // destroyed with its nest
};

}  // namespace casemate::jail
