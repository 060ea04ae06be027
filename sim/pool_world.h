// An engine and its host as a pool sees them: what the pool asks for happens after a while, or goes
// wrong, or is reported twice, late or never. And a second opinion, kept apart from the pool's own
// state, on what may happen to each slot and nest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pool/pool.h"
#include "seeds.h"

namespace casemate::sim {

class PoolWorld {
 public:
  explicit PoolWorld(Random& random);

  // Requests and faults of all kinds for that long.
  void chaos(milliseconds length);
  // No more faults; each class is asked for again and again and has to get slots.
  // True when they did; false when that was not promised, for want of memory or since the pool stopped.
  bool calm();
  // The pool stops and everything is reported: nothing may be left.
  void finish();

  std::size_t leases() const { return leases_; }

 private:
  enum class State { kMade, kReady, kLeased, kRunning, kOver, kAsked, kGone, kQuarantined };
  struct SlotSeen {
    State state = State::kMade;
    pool::NestId nest;
    std::size_t of = 0;  // index in classes_
    bool unusable = false;
    bool leased = false;
    Bytes cost;
    std::string volume;
    Instant alive_at{};  // asked for, or heard of since
    Instant asked_at{};  // its destruction
  };
  struct NestSeen {
    bool ready = false, draining = false, end_asked = false, gone = false;
    bool single = false;  // a sandbox
    Bytes cost;
  };
  using Event = std::function<void()>;

  void make_config();
  void make_classes();

  std::size_t promised_classes() const;

  // Time goes to the next thing that happens, or to `until`.
  void step(Instant until);
  void plan();
  void check();
  void take_late_quarantines();
  void check_given_up();
  void check_times();

  void act(const pool::StartNest& action);
  void act(const pool::MakeSlot& action);
  void act(const pool::DestroySlot& action);
  void act(const pool::EndNest& action);
  // After a random time; now and then a second time, much later.
  void later(milliseconds least, milliseconds most, Event event);

  bool request(std::size_t of);
  void nest_ready(pool::NestId id);
  void nest_failed(pool::NestId id);
  void zygote_died(pool::NestId id);
  void nest_gone(pool::NestId id);
  void slot_ready(pool::SlotId id, pool::Level level);
  void slot_alive(pool::SlotId id);
  void slot_failed(pool::SlotId id);
  void slot_running(pool::SlotId id);
  void slot_ended(pool::SlotId id);
  void slot_destroyed(pool::SlotId id);
  void slot_cleaned(pool::SlotId id);
  void nest_spent(pool::NestId id);
  void slot_quarantined(pool::SlotId id);
  void take_end(pool::SlotId id, const Result<pool::SlotState>& ended, bool good, std::size_t rows);
  Bytes nest_cost_of(const pool::SlotClass& of) const;
  void nonsense();
  bool fault(std::size_t one_in) { return faults_ && random_.one_in(one_in * rarity_); }

  Random& random_;
  pool::PoolConfig config_;
  std::vector<pool::SlotClass> classes_;
  std::optional<pool::Pool> pool_;
  Instant now_{};
  bool faults_ = true;
  std::size_t rarity_ = 1;  // of faults, another one for each seed
  std::multimap<Instant, Event> events_;
  std::map<pool::SlotId, SlotSeen> slots_;
  std::map<pool::NestId, NestSeen> nests_;
  std::vector<std::string> dead_volumes_;
  std::uint64_t next_volume_ = 1;
  std::size_t leases_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace casemate::sim
