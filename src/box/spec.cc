#include "box/spec.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

namespace casemate::box {

Machine this_machine() {
  Machine machine;
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) machine.memory = Bytes{std::uint64_t{info.totalram} * info.mem_unit};
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
    machine.cpus = static_cast<std::uint32_t>(CPU_COUNT(&cpus));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    machine.open_files = static_cast<std::uint32_t>(std::min<rlim_t>(files.rlim_max, 1U << 30));
  }
  return machine;
}

namespace {

Result<void> bad(const std::string& limit, const std::string& what) {
  return fail(ErrorCode::kInvalid, "the " + limit + " limit " + what);
}

}  // namespace

Result<void> check_limits(const Limits& limits, const Machine& machine) {
  constexpr milliseconds kTimeMax{24 * 3600 * 1000};
  constexpr Bytes kMemoryMin = mib(16);  // an interpreter does not start in less
  constexpr Bytes kDiskMin = kib(256);
  if (limits.wall.count() <= 0) return bad("wall", "must be more than zero, e.g. 30s");
  if (limits.wall > kTimeMax) return bad("wall", "is more than 24h");
  if (limits.cpu_time.count() <= 0) return bad("cpu-time", "must be more than zero, e.g. 20s");
  if (limits.cpu_time > kTimeMax) return bad("cpu-time", "is more than 24h");
  if (limits.memory < kMemoryMin)
    return bad("memory", "must be at least " + format_bytes(kMemoryMin) + ", e.g. 512MiB");
  if (limits.memory > machine.memory) {
    return bad("memory", "is more than this machine has (" + format_bytes(machine.memory) + ")");
  }
  if (limits.cpus_milli < 10) return bad("cpus", "must be at least 0.01, e.g. 1");
  if (limits.cpus_milli > machine.cpus * 1000) {
    return bad("cpus", "is more than this machine has (" + std::to_string(machine.cpus) + ")");
  }
  if (limits.disk < kDiskMin)
    return bad("disk", "must be at least " + format_bytes(kDiskMin) + ", e.g. 256MiB");
  if (limits.disk > machine.memory) {
    return bad("disk", "is more than this machine's memory (" + format_bytes(machine.memory) +
                           "), and a box's disk is kept in memory");
  }
  if (limits.pids < 1) return bad("pids", "must be at least 1, e.g. 128");
  if (limits.pids > 32'768) return bad("pids", "is more than 32768");
  if (limits.open_files < 16) return bad("open-files", "must be at least 16, e.g. 256");
  if (limits.open_files > machine.open_files) {
    return bad("open-files",
               "is more than this process may give (" + std::to_string(machine.open_files) + ")");
  }
  if (limits.output < Bytes{64}) return bad("output", "must be at least 64 bytes, e.g. 64KiB");
  if (limits.output > mib(64))
    return bad("output", "is more than 64 MiB; write large products to files instead");
  if (limits.inodes < 64) return bad("inodes", "must be at least 64");
  return {};
}

}  // namespace casemate::box
