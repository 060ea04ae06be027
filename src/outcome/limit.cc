#include "outcome/limit.h"

#include <array>
#include <limits>

#include "base/bytes.h"
#include "base/limits.h"

namespace casemate::outcome {
namespace {

struct LimitRow {
  const char* name;
  const char* advice;
};

constexpr std::array<LimitRow, kLimitCount> kLimits = {{
    {"wall", "Do less in one run, or ask for a longer wall limit."},
    {"cpu_time", "Do less work in one run, or ask for a higher cpu_time limit."},
    {"memory", "Work on the data in smaller pieces, or ask for a higher memory limit."},
    {"output",
     "Print a summary and write the rest to a file that you declare as an artifact, or ask for a "
     "higher output limit."},
    {"pids", "Start fewer processes or threads at once, or ask for a higher pids limit."},
    {"disk", "Delete files that are no longer needed or write less, or ask for a higher disk limit."},
    {"inodes", "Keep fewer files, for example many records in one file, or ask for a higher disk limit."},
    {"file_size", "Write the data to several smaller files, or ask for a higher disk limit."},
    {"open_files", "Close files and sockets when you are done with them, for example with a with block."},
}};

const LimitRow& row_of(LimitName name) { return kLimits.at(static_cast<std::size_t>(name)); }

}  // namespace

const char* limit_name(LimitName name) { return row_of(name).name; }
std::string limit_advice(LimitName name) { return row_of(name).advice; }

std::string limit_amount(LimitName name, std::uint64_t amount) {
  std::string count = std::to_string(amount);
  switch (name) {
    case LimitName::kWall:
    case LimitName::kCpuTime: {
      std::string seconds = std::to_string(amount / 1000);
      const std::uint64_t tenths = amount % 1000 / 100;
      if (amount < 1000 && amount % 100 != 0) return count + " ms";
      if (tenths != 0) seconds += "." + std::to_string(tenths);
      return seconds + " s";
    }
    case LimitName::kMemory:
    case LimitName::kOutput:
    case LimitName::kDisk:
    case LimitName::kFileSize: return format_bytes(Bytes{amount});
    case LimitName::kPids: return count + (amount == 1 ? " process" : " processes");
    case LimitName::kInodes: return count + (amount == 1 ? " file" : " files");
    case LimitName::kOpenFiles: return count + (amount == 1 ? " open file" : " open files");
  }
  return count;
}

std::uint64_t ceiling_of(const LimitValues& limits, LimitName name) {
  switch (name) {
    case LimitName::kWall: return limits.wall_ms.value_or(0);
    case LimitName::kCpuTime: return limits.cpu_time_ms.value_or(0);
    case LimitName::kMemory: return limits.memory_bytes.value_or(0);
    case LimitName::kOutput: {
      const std::uint64_t cap = limits.output_bytes.value_or(0);
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
      return cap > kMost / kOutputEndFactor ? kMost : cap * kOutputEndFactor;
    }
    case LimitName::kPids: return limits.pids.value_or(0);
    case LimitName::kDisk: return limits.disk_bytes.value_or(0);
    case LimitName::kInodes: return limits.inodes.value_or(0);
    case LimitName::kFileSize: return limits.file_size_bytes.value_or(0);
    case LimitName::kOpenFiles: return limits.open_files.value_or(0);
  }
  return 0;
}

}  // namespace casemate::outcome
