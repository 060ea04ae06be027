// The warden: holds every box and nest, and serves one engine. See main.cc for how it lives.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "frame/nest.h"
#include "jail/box.h"
#include "jail/instance.h"
#include "jail/nest_host.h"
#include "wall_timers.h"

namespace casemate {

class Warden {
 public:
  Warden(sys::Fd peer, jail::Instance instance) : peer_(std::move(peer)), instance_(std::move(instance)) {}

  // Finds out what the host gives and says so. False when boxes cannot be made here.
  bool prepare(bool single_id, bool no_cgroup);
  // Serves until the peer goes away.
  void serve();
  const sys::Fd& peer() const { return peer_; }

 private:
  template <typename T>
  void say(const T& message, std::span<const int> fds = {}) {
    // A peer that is gone is noticed where its messages are read.
    (void)sys::send_message(peer_, frame::bytes_of(message), fds);
  }
  bool on_peer();
  void make_box(const frame::MakeBox& spec, std::vector<sys::Fd> fds);
  void make_nest(const frame::MakeNest& spec, std::vector<sys::Fd> fds);
  void end_nest(std::uint64_t id, const std::string& why);
  void on_nests(Instant at);
  void open_file(const frame::OpenFile& request);
  void destroy_box(std::uint64_t id);
  void freeze(jail::Box& box, const frame::FreezeBox& request);
  void show_gone(jail::Box& box);
  void take_gone(const frame::BoxGone& gone, std::uint32_t slot);
  void keep_undone(const frame::BoxGone& gone);
  void report();
  jail::Box* box_of(std::uint64_t id);
  jail::Nest* nest_of(std::uint64_t id);
  std::uint32_t free_slot();

  sys::Fd peer_;
  jail::Instance instance_;
  jail::Host host_;
  std::vector<std::unique_ptr<jail::Nest>> nests_;  // outlive the boxes in them
  std::vector<std::unique_ptr<jail::Box>> boxes_;
  struct Dying {
    std::uint64_t box;
    Instant until;
  };
  WallTimers wall_timers_;
  std::vector<Dying> dying_;               // to be shown gone when their processes are
  std::vector<frame::BoxGone> undone_;     // of boxes that were never whole, until the peer asks
  std::vector<std::uint32_t> lost_slots_;  // of boxes that were not shown to be gone: never used again
  std::uint32_t last_slot_ = 0;
  bool quarantined_ = false;
};

}  // namespace casemate
