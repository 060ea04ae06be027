// What a box is to be: one declarative value; the rung's code makes it true.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "frame/walls.h"

namespace casemate::box {

struct Limits {
  milliseconds wall{30'000};
  milliseconds cpu_time{20'000};
  Bytes memory = mib(512);
  std::uint32_t cpus_milli = 1000;
  Bytes disk = mib(256);  // of the layer, memory-backed and charged to `memory` as well
  std::uint64_t inodes = 16'384;
  Bytes file_size = mib(256);
  std::uint32_t pids = 128;
  std::uint32_t open_files = 256;
  Bytes output = kib(64);  // kept of each stream; kOutputEndFactor times it ends the run
};

// What this machine has, for refusing limits that it cannot keep.
struct Machine {
  Bytes memory;
  std::uint32_t cpus = 1;
  std::uint32_t open_files = 1024;  // the hard limit of this process
};
Machine this_machine();

// Errors: invalid; the message names the limit, what is wrong and what would do.
Result<void> check_limits(const Limits& limits, const Machine& machine);

// Named departures from a promise, each asked for by its name; shown in the outcome.
struct Weakenings {
  bool single_id = false;    // the box shares the user's own id
  bool no_cgroup = false;    // memory, processes and CPU time are limited per process only
  bool below_floor = false;  // a rung below what the request's trust asks for
};

struct NestSpec {
  Bytes memory = gib(1);  // of the zygote and of what it keeps
  // Then it has failed. Later than the pool gives it up (PoolConfig::nest_start_max), whose word says more.
  milliseconds ready_max{40'000};
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::uint64_t walls_off = 0;  // test builds only
};

struct BoxSpec {
  std::uint64_t nest = 0;  // the nest whose zygote forks its guest; 0: it is made and started at once
  bool rehearse = false;   // with a nest: the guest rehearses before it parks
  bool parks = false;      // without one: it is whole when park_box() has said that its guest waits
  frame::Rung rung = frame::Rung::kJail;
  Limits limits;
  std::vector<std::string> arguments;    // argv of the first program, a path in the image first
  std::vector<std::string> environment;  // NAME=VALUE, all of it: nothing is inherited
  // Test builds only; the warden of a release build does not look at them.
  std::uint64_t walls_off = 0;
  std::uint32_t fail_stage = 0;
};

}  // namespace casemate::box
