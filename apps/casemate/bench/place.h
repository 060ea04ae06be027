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

inline constexpr const char* kGvisorShared =
    "gvisor: a kernel in user space (runsc, ptrace), in a jail without Landlock, which all runs of a tenant "
    "share, one "
    "after the other";

inline constexpr const char* kMicrovm =
    "microvm: a kernel of its own on an emulated machine (QEMU, TCG), in a jail";

// What our runs are in: the boxes of a rung, on gvisor each in a sandbox of its own or one after another in
// one.
struct Boxes {
  constexpr Boxes(engine::Isolation on, engine::Sandbox whose = engine::Sandbox::kOwn)
      : rung(on), sandbox(whose) {}
  engine::Isolation rung;
  engine::Sandbox sandbox;
};
const char* isolation_of(Boxes boxes);

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

// Why a rung cannot be measured here; empty when it can.
const std::string& missing_rung(const Place& place, engine::Isolation rung);

// Each adds its rows under that name, of runs in such boxes, and what it had to leave out.
// Errors: internal (a sample was not right), unavailable, system.
using Take = Result<void>(const Place& place, const char* name, Boxes boxes);
Take measure_hot_print, measure_pandas_job, measure_cold_run, measure_restore, measure_sustained,
    measure_memory, measure_live_1000, measure_callbacks;

}  // namespace casemate::bench
