// The slots of one engine: carries out what its pool decides, and tells the pool what came of it.
//
// One thread, the engine's. Nothing here waits but fill(): requests go to the warden as messages, and what
// it answers comes back through on_event() whenever the engine reads its socket, in a run or between two.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "box/warden_line.h"
#include "engine/box_records.h"
#include "engine/request.h"
#include "engine/runtime.h"
#include "frame/guest.h"
#include "frame/walls.h"
#include "pool/pool.h"

namespace casemate::engine {

struct Paths;

// A slot that a run has to itself, with our ends of its pipes and of its control socket.
struct Lease {
  pool::SlotId slot;
  std::uint64_t box = 0;
  pool::Level level = pool::Level::kCold;
  std::string name;  // "box_…"
  std::string volume;
  frame::Rung rung = frame::Rung::kJail;
  Sandbox sandbox = Sandbox::kOwn;
  std::uint64_t walls_on = 0;
  int processor = -1;  // where its guest sleeps: a hint
  box::UsageFiles usage;
  sys::Fd wall_timer;
  sys::Fd out, err, control;
};

// How a run in a slot ended, for whether another may follow it in its sandbox.
enum class RunEnd {
  kClean,  // it said that it was done, and nothing else ended it
  kOther,
};

class Slots {
 public:
  // `next_box` counts the engine's boxes and nests; `records` gets one of each slot whose end is known. The
  // references outlive this.
  static Result<Slots> make(const pool::PoolConfig& config, box::WardenLine& warden, std::uint64_t& next_box,
                            BoxRecords& records);

  // Which slots of a rung a request may have, made known to the pool; the runtime's file outlives this.
  // Errors: denied (none: why, in one line), system (the image cannot be opened).
  Result<pool::SlotClass> class_for(const Request& request, const Image& image, const Paths& paths,
                                    const frame::Hello& host, const Runtime& runtime);
  // At least this many hot ones of the class from now on.
  void keep(pool::SlotClass slot_class, std::size_t hot);

  // A slot, or why the run is cold.
  struct Taken {
    std::optional<Lease> lease;
    std::string reason;
  };
  Taken take(const pool::SlotClass& slot_class, Instant now);
  // A run waits for one of any level, and there is none.
  void lacks(const pool::SlotClass& slot_class, Instant now) {
    pool_.lacks(slot_class.key, slot_class.preload, now);
  }
  // How many of the class are hot, or parked at all.
  std::size_t parked(const pool::SlotClass& slot_class, bool warm_too) const;
  // Why waiting for one has no point; nothing: it may become hot.
  std::optional<std::string> hopeless(const pool::SlotClass& slot_class, Instant now) const {
    return pool_.hopeless(slot_class.key, slot_class.preload, now);
  }
  // What became of the slot with this volume, once its end is over; of the last kVerdictsMax.
  struct Verdict {
    bool destroyed = false;
    std::uint64_t minor_faults = 0;  // of the program's process, from the parking on
  };
  std::optional<Verdict> verdict(const std::string& volume) const;
  void started(pool::SlotId slot, Instant now);
  // Its run, if it had one, is over; the slot's end begins with the next act().
  void ended(pool::SlotId slot, const std::string& run, RunEnd end, Instant now);
  // Our ends of a slot whose run is over: of one in a shared sandbox they are needed for its end. Without
  // them its sandbox ends as well.
  void give_back(Lease lease);
  // No more slots: ends what is there and waits for the proofs. What has none by then is recorded so.
  void close(Deadline deadline);

  // What the warden said about one of our nests or slots. False: it is about none.
  bool on_event(box::WardenEvent event, Instant now);
  // Carries out what is to be done now.
  void act(Instant now);
  // Reads what the warden has said by now. Errors: unavailable.
  Result<void> read_events();
  // Readable when a guest that prepares itself has something to say: then read_guests() is to be called.
  // -1: there is no such guest.
  int guests() const { return preparing_.empty() && shared_.empty() ? -1 : guests_.get(); }
  void read_guests(Instant now);
  // Reads what the warden has said and acts, until nothing is left to read; waits for more at most until
  // `until`, or until `done` holds. Errors: unavailable.
  Result<void> pump(const std::function<bool()>& done, Deadline until);

  const pool::Pool& pool() const { return pool_; }

 private:
  struct Trees {
    sys::Fd image, guest;
    std::array<int, frame::kRuntimeFilesMax> runtime = {-1, -1, -1};  // of a stronger rung
    frame::Rung rung = frame::Rung::kJail;
    Sandbox sandbox = Sandbox::kOwn;
    box::Limits limits;           // of templates and shared sandboxes, which have those of their runs
    std::uint64_t walls_off = 0;  // test builds only, as below
  };
  // What machines are restored from: a nest of the microvm rung.
  struct Template {
    pool::NestId nest;
    sys::Fd memory, state;  // in the end sealed
    sys::Fd err, control;   // our ends, while it is made
    std::string failure;    // why it is none
  };
  // A sandbox that runs share: a nest of the gvisor rung, with one slot in it at most, which has its number.
  struct Shared {
    pool::NestId nest;
    std::string name;  // "box_…"
    sys::Fd err, link;
    std::uint64_t walls_on = 0, outside_id = 0;
    int processor = -1;
    box::UsageFiles usage;  // while no slot has them
    sys::Fd wall_timer;     // likewise; also the time that a slot's end may take
    bool serving = false;
    bool cleaning = false;  // it was asked to show that its slot is gone
    bool spent = false;     // its next end is that of all of it
    bool ending = false;    // the warden was asked for that
    std::string failure;
  };
  struct MadeAs {
    box::Limits limits;
    std::string image;  // SlotClass::image
    std::string digest;
    std::uint64_t walls_off = 0;
  };
  struct Made {  // what we hold of a slot
    pool::SlotId slot;
    pool::Level level = pool::Level::kHot;
    frame::Rung rung = frame::Rung::kJail;
    std::string name;
    std::string volume;
    std::string run;  // that had it
    std::uint64_t walls_on = 0;
    std::uint64_t outside_id = 0, setup_us = 0;
    Instant asked_at{};
    int processor = -1;
    box::UsageFiles usage;
    sys::Fd wall_timer;
    sys::Fd out, err, control;
    std::uint64_t minor_faults = 0;
    int rounds = frame::kParkRounds;  // that a guest has left before it waits
  };
  Slots(pool::Pool pool, box::WardenLine& warden, std::uint64_t& next_box, BoxRecords& records,
        sys::Fd guests)
      : pool_(std::move(pool)),
        warden_(&warden),
        next_box_(&next_box),
        records_(&records),
        guests_(std::move(guests)) {}
  Result<void> start_nest(const pool::StartNest& action);
  Result<void> start_template(const pool::StartNest& action, const Trees& trees);
  bool on_template(std::uint64_t box, const box::WardenEvent& event, Instant now);
  bool end_template(pool::NestId nest, Instant now);
  Result<void> make_slot(const pool::MakeSlot& action);
  // slots_shared.cc
  Result<void> start_shared(const pool::StartNest& action, const Trees& trees);
  Result<void> make_shared_slot(const pool::MakeSlot& action);
  bool on_shared(std::uint64_t box, box::WardenEvent& event, Instant now);
  void hear_link(std::uint64_t box, Instant now);
  Result<void> serve_link(std::uint64_t box, Shared& shared);
  void shared_parked(std::uint64_t box, Made& made, Instant now);
  void slot_cleaned(std::uint64_t box, Shared& shared, Instant now);
  void spend(Shared& shared);
  void lose_shared(std::uint64_t box, Shared& shared, const std::string& why, Instant now);
  bool end_shared_slot(std::uint64_t box);
  void end_shared(pool::NestId nest);
  void destroy_shared(std::uint64_t box, Shared& shared);
  Result<bool> hear_guest(std::uint64_t box, Made& made);
  bool stop_hearing(std::uint64_t box, const Made& made);
  static std::string last_words(const sys::Fd& err);
  static std::string why_it_ended(const sys::Fd& err, frame::EndCause cause);
  bool carry_out(Instant now);
  std::uint64_t box_of(pool::SlotId slot) const;
  bool on_slot(std::uint64_t box, box::WardenEvent& event, Instant now);
  void keep_record(const Made& made, std::optional<std::uint64_t> teardown_us, Instant now);
  bool on_nest(std::uint64_t id, const box::WardenEvent& event, Instant now);

  static constexpr std::uint64_t kLinkBit = std::uint64_t{1} << 63;  // in guests_, of a link

  pool::Pool pool_;
  box::WardenLine* warden_;
  std::uint64_t* next_box_;
  BoxRecords* records_;
  std::map<std::string, Trees> trees_;           // by SlotClass::image
  std::map<std::string, MadeAs> made_as_;        // by SlotClass::key
  std::map<std::uint64_t, Made> slots_;          // by the warden's number
  std::map<pool::SlotId, std::uint64_t> boxes_;  // that number
  std::map<std::uint64_t, pool::NestId> nests_;  // likewise
  std::set<pool::NestId> named_nests_;           // of slots that are forked from nothing
  std::map<std::uint64_t, Template> in_making_;  // by the warden's number of the box that makes it
  std::map<pool::NestId, Template> templates_;   // that are made
  std::map<std::uint64_t, Shared> shared_;       // likewise
  sys::Fd guests_;  // an epoll of the control sockets of preparing_ and of the links of shared_
  std::set<std::uint64_t> preparing_;                     // boxes whose guests have not said that they wait
  std::deque<std::pair<std::string, Verdict>> verdicts_;  // by volume, oldest first
};

}  // namespace casemate::engine
