// The life of one run: request → box → outcome. The engine behind every interface.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/log.h"
#include "base/result.h"
#include "box/warden_client.h"
#include "engine/box_records.h"
#include "engine/products.h"
#include "engine/request.h"
#include "engine/rung.h"
#include "engine/runtime.h"
#include "engine/slots.h"
#include "engine/switchboard.h"
#include "outcome/capture.h"
#include "outcome/outcome.h"

namespace casemate::engine {

struct Paths {
  std::string warden;               // casemate-warden
  std::string guest_tree;           // share/casemate/guest: layered over every image
  std::string runsc;                // of the gvisor rung, if that is there
  Rungs rungs;                      // what is there
  bool walls_off_in_slots = false;  // test builds, whose guest tree has hooks
};

// What a caller may want while the run goes on. Each may be empty.
struct Hooks {
  // Output as it arrives, exact bytes. Called by the engine's thread between two reads.
  std::function<void(outcome::Stream, std::string_view)> on_output;
  // The run begins to stand still, since all that it waits for is a person (Grants::desk), or goes on. Called
  // by the engine's thread.
  std::function<void(bool waits)> on_waiting{};
  // Becomes readable when the run shall be cancelled; owned by the caller.
  const sys::Fd* cancel = nullptr;
};

class LiveRun;

// What is not about the one run that goes on: events of other boxes, and guests that prepare themselves
// meanwhile.
struct Others {
  std::function<void(box::WardenEvent)> on_event;
  std::function<int()> guests;  // to be polled, -1: none
  std::function<void()> read_guests;
};

// One private warden. One thread and one run at a time, until serve(): then as many as call run(), each on
// its own.
class Engine {
 public:
  // Starts the warden and returns at once, so that the caller can look for the image meanwhile.
  static Result<Engine> start(const Paths& paths, const box::Weakenings& weakenings);

  // What the host gives; waits for the warden's word the first time.
  // Errors: denied (boxes cannot be made here: the message says why and what to do), unavailable, deadline.
  Result<frame::Hello> host();

  // Runs the program to its end, collects its products into `products`, destroys the box and says
  // what happened, the proof of teardown included. Everything that goes wrong with the box or the
  // host is an outcome (unavailable), not an error.
  // A run in a slot is over when its result is: its teardown is "pending" until settle().
  outcome::Outcome run(const Request& request, const Image& image, Products& products, const Hooks& hooks);

  // From now on each run is recorded there: allocated, and durably so, before its program begins; executed,
  // when it has ended; torn down, with the verdict. The last two are durable before run() returns, of a run
  // in a slot before settle() does. What cannot be recorded as allocated does not run: audit_unavailable.
  // `log` must outlive the engine. What could not be recorded at a run's end is said in
  // Outcome::not_recorded.
  void record_runs(audit::Log& log) { log_ = &log; }

  // From now on runs take slots from a pool, which makes them ahead of time: as many for each class of
  // request as `hot` says. Raises this process's soft limit of open files to the hard one.
  // Errors: invalid (the configuration), exhausted (so many slots need more open files than there may be).
  Result<void> use_slots(const pool::PoolConfig& config, std::size_t hot);
  // From now on this engine is thread-safe: runs go on at once, and a thread of its own reads what the warden
  // says and looks after the slots. After use_slots() and record_runs(); the engine stays where it is from
  // then on. Errors: as host(); system.
  Result<void> serve();
  // Starts what the pool keeps for such a request and waits until that many slots are hot.
  // Errors: denied (there are no slots for it: why), deadline, unavailable.
  Result<void> prepare(const Request& request, const Image& image, std::size_t hot, Deadline deadline);
  // Waits until there are so many slots for such a request, hot or not. Errors: as prepare().
  Result<void> await_slots(const Request& request, const Image& image, std::size_t count, Deadline deadline);
  // Waits until no slot and no zygote is being made, as far as the pool wants any now: nobody need look after
  // them then. Errors: deadline, unavailable.
  Result<void> await_quiet(Deadline deadline);
  // Begins what the pool wants done after a run (the end of its slot, the making of others), waits for the
  // proof of the run's teardown and writes it, with the record of the box, into the outcome. To be called
  // after each run in a slot.
  void settle(outcome::Outcome& result, Deadline deadline);
  // Ends the slots that are left and waits for the proofs, for their records. Runs after it are cold. Of an
  // engine that serves: no run may be under way, and it serves no more.
  void close(Deadline deadline);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) = delete;
  // The records of all boxes whose end is known, with a run or without, since the last call; of the last
  // kBoxRecordsMax.
  std::vector<outcome::BoxRecord> take_records();
  // Why the last run that was cold had no slot, in one line; empty when slots are not in use.
  std::string cold_reason() const;

 private:
  Engine(Paths paths, box::WardenClient warden);

  // What belongs to one run while it lasts.
  struct Run {
    const Request& request;
    Products& products;
    LiveRun& run;
    box::WardenLine& warden;
    Switchboard::Line* line;  // that is `warden`; nullptr: the engine has one run
    Instant asked_at;
    std::uint64_t box;
    frame::Rung rung;
    std::optional<pool::SlotId> slot;
    std::string cold_reason;  // why it has none
  };
  // run_records.cc
  Result<void> record_allocated(const outcome::Outcome& result);
  std::optional<outcome::ReasonGiven> allocate(const Request& request, const Image& image, const Lease* lease,
                                               outcome::Outcome& result);
  std::vector<outcome::Weakening> weakenings_of(const Request& request, const Lease* slot) const;
  void record_executed(outcome::Outcome& result);
  void record_torn_down(outcome::Outcome& result);
  // serve.cc
  struct Service;
  void hear_warden();
  void stop_serving();
  // Waits until `done` holds, which is called with the mutex held; who looks after the slots then is this
  // thread or that of serve(). Errors: unavailable.
  Result<void> await(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done,
                     Deadline deadline);
  // Has what the pool wants done now begun. With the mutex held.
  void look_after_slots();
  // The box of a run is over: what is said of it from now on is about a slot.
  void hang_up(Run& live);
  Result<void> open_line(std::uint64_t box, std::unique_ptr<Switchboard::Line>& line);
  Others others();
  std::unique_ptr<char[]> take_chunk();
  Result<Result<void>> start_cold(Run& live, const Image& image);
  void end_slot(Run& live, const std::string& run_id);
  Result<void> wait_for_slots(const Request& request, const Image& image, std::size_t count, bool warm_too,
                              Deadline deadline);
  Slots::Taken take_slot(const Request& request, const Image& image, frame::Rung rung);
  std::optional<Lease> slot_for(const Request& request, const Image& image, frame::Rung rung,
                                std::string& why);
  outcome::Outcome follow(Run& live, Result<void> started, outcome::Outcome result);
  // A file of the layer of a box that has ended. Errors: as WardenClient::open_file().
  Result<sys::Fd> open_product(const Run& live, const std::string& path);
  // How a box that was made for its run was over.
  struct Over {
    std::string failure;  // ours; empty: its run is over
    bool whole = false;   // it was, before
    Instant at;
    std::optional<frame::BoxGone> gone;  // what the warden showed, if it said anything
  };
  void record_cold(const Run& live, outcome::Outcome& result, const Over& over);

  Paths paths_;
  // On the heap, as what is referred to: the engine moves until it serves.
  std::unique_ptr<box::WardenClient> warden_;
  audit::Log* log_ = nullptr;  // of runs
  std::size_t hot_ = 0;
  // Guards what follows. Never held while a run is waited for.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  Runtimes runtimes_;
  std::optional<frame::Hello> hello_;  // once it serves, it is there and stays
  std::unique_ptr<std::uint64_t> next_box_ = std::make_unique<std::uint64_t>(1);
  std::unique_ptr<BoxRecords> records_ = std::make_unique<BoxRecords>();
  std::optional<Slots> slots_;
  std::string cold_reason_;
  std::map<std::string, Lease> past_;  // of runs in slots, by volume, until settle()
  static constexpr std::size_t kReadChunk = 64 << 10;
  // Not cleared: what is read into it is all that is looked at, and clearing touches every page.
  std::vector<std::unique_ptr<char[]>> chunks_;  // that no run uses
  std::unique_ptr<Service> service_;             // while it serves
};

// An outcome for a request that never ran.
outcome::Outcome refused_outcome(const Request& request, const Rungs& rungs, outcome::Reason reason,
                                 const std::string& message);

}  // namespace casemate::engine
