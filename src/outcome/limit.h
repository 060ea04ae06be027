// The limits of a run: their names, units, ceilings, and what to do when one is reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace casemate::outcome {

enum class LimitName {
  // These end a run.
  kWall,     // milliseconds
  kCpuTime,  // milliseconds
  kMemory,   // bytes
  kOutput,   // bytes: the ceiling is kOutputEndFactor times the cap, for each stream
  // These a program meets as an ordinary error.
  kPids,      // processes and threads
  kDisk,      // bytes
  kInodes,    // files and directories
  kFileSize,  // bytes
  kOpenFiles,
};
inline constexpr std::size_t kLimitCount = 9;
const char* limit_name(LimitName name);
// "30 s", "512 MiB", "128 processes": an amount of this limit for a reader.
std::string limit_amount(LimitName name, std::uint64_t amount);
// What to do about it, in one sentence.
std::string limit_advice(LimitName name);

// Limits as asked for or as granted. Absent: not asked for, or not enforced on this rung.
struct LimitValues {
  std::optional<std::uint64_t> wall_ms;
  std::optional<std::uint64_t> cpu_time_ms;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> output_bytes;  // the cap, for each stream
  std::optional<std::uint64_t> disk_bytes;
  std::optional<std::uint64_t> inodes;
  std::optional<std::uint64_t> file_size_bytes;
  std::optional<std::uint64_t> pids;
  std::optional<std::uint64_t> open_files;
  std::optional<double> cpus;
};
// The ceiling at which the limit acts, in its unit; 0 when it is absent. For kOutput kOutputEndFactor
// times the cap.
std::uint64_t ceiling_of(const LimitValues& limits, LimitName name);

struct EndingLimit {
  LimitName name = LimitName::kWall;
  std::uint64_t ceiling = 0;  // in the limit's unit
  std::uint64_t used = 0;
  std::string advice;
};

struct MetLimit {
  LimitName name = LimitName::kPids;
  std::uint64_t ceiling = 0;
  std::uint64_t times = 0;  // at least; some of these the kernel does not count
};

struct ExceptionFrame {
  std::string file;
  std::optional<std::uint64_t> line;
  std::string function;
  std::string source;
};

}  // namespace casemate::outcome
