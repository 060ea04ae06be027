// What every measure has: where things are, whom to compare with, how long to take, and where rows go.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "bench/peers.h"
#include "bench/report.h"
#include "engine/run.h"

namespace casemate::bench {

// A program that looks for what an earlier run of it left in the interpreter, and says when it finds it:
// that the state is fresh is part of what is timed.
struct Program {
  const char* text;
  const char* expected;  // on its standard output
};
extern const Program kPrint;
extern const Program kPandas;

inline constexpr const char* kJail =
    "jail: namespaces: user, mount, pid, network, IPC, UTS, cgroup; read-only image; a user of its own; no "
    "capabilities; Landlock; system-call filter; limits of memory, processes, CPU, disk, time, output";

inline constexpr const char* kGvisor =
    "gvisor: a kernel of its own in user space (runsc, ptrace), in a jail without Landlock";

// Of a rung.
const char* isolation_of(engine::Isolation rung);

struct Place {
  engine::Paths parts;
  engine::Image image;
  std::string store;        // as --store said; may be empty
  std::string self;         // path of this program
  std::vector<Peer> peers;  // those that are wanted, installed and work here
  PeerRoom* room = nullptr;
  bool quick = false;
  std::size_t samples = 0;  // turns of a measure at most
  Report* report = nullptr;
};

// Whether a rung is there to be measured; if not, the reason is added for this measure.
bool can_measure(const Place& place, engine::Isolation rung, const char* measure);

// Each adds its rows, and what it had to leave out.
// Errors: internal (a sample was not right), unavailable, system.
Result<void> measure_hot_print(const Place& place);
Result<void> measure_hot_gvisor(const Place& place);
Result<void> measure_pandas_job(const Place& place);
Result<void> measure_cold_run(const Place& place);
Result<void> measure_sustained(const Place& place);
Result<void> measure_memory_hot_slot(const Place& place);
Result<void> measure_sustained_gvisor(const Place& place);
Result<void> measure_memory_gvisor_slot(const Place& place);
Result<void> measure_live_1000(const Place& place);

}  // namespace casemate::bench
