// A nest as the warden sees it: made, asked for slots, watched, destroyed with proof.
//
// One thread, as Box. What the nest's init and its zygote say about boxes is kept as events, in order, for
// the owner to hand on: take_events() after each on_events().
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/nest.h"
#include "jail/cell.h"

namespace casemate::jail {

// The descriptors that come with a MakeNest, in the order of the protocol.
struct NestFds {
  sys::Fd image, guest;
};

struct NestEvent {
  LinkMessage message;
  sys::Fd fd;
};

class Nest {
 public:
  static std::unique_ptr<Nest> make(const Host& host, const frame::MakeNest& spec, NestFds fds,
                                    SetupFailure& failure);
  ~Nest();
  Nest(const Nest&) = delete;
  Nest& operator=(const Nest&) = delete;

  std::uint64_t id() const { return id_; }
  bool dead() const { return dead_; }
  bool has_zygote() const { return ready_ && zygote_pid_ > 0; }
  const sys::Fd& user_namespace() const { return cell_.user_namespace; }

  void watch(std::vector<pollfd>& items) const;
  std::optional<Instant> next_deadline() const;
  void on_events(Instant at);
  bool has_events() const { return !events_.empty(); }
  std::vector<NestEvent> take_events() { return std::exchange(events_, {}); }
  // Each is handed out once.
  std::optional<frame::NestReady> take_ready();
  std::optional<frame::ZygoteGone> take_zygote_gone();
  // Why it ended by itself, once it has.
  std::optional<std::string> take_failure();

  // The descriptors of SlotRequest. Errors: unavailable (the init or the zygote is gone).
  Result<void> ask_init(const SlotRequest& request, std::span<const int> fds) const;
  Result<void> ask_zygote(const SlotRequest& request, std::span<const int> fds) const;
  // Waits until the init said that it reaped `pid`; what else it said is kept. False at the deadline.
  bool wait_reaped(int pid, Deadline deadline);

  // Ends the zygote and every box in it, and proves that nothing is left.
  frame::BoxGone destroy(Deadline deadline);

 private:
  Nest() = default;
  void on_link(sys::Fd& link);
  void take(const LinkMessage& message, std::vector<sys::Fd> fds);
  void fail_with(std::string why);
  bool reaped(int pid) const;

  std::uint64_t id_ = 0;
  Cell cell_;
  sys::Fd zygote_link_;
  int zygote_pid_ = -1;  // in the nest's namespace; 0: it is gone
  Instant made_at_{}, ready_at_{}, ready_until_{};
  bool ready_ = false, ready_taken_ = false, dead_ = false, gone_taken_ = false;
  std::string failure_;
  std::vector<NestEvent> events_;
};

}  // namespace casemate::jail
