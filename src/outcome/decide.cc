#include "outcome/decide.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "json/utf8.h"

namespace casemate::outcome {
namespace {

using frame::EndCause;

constexpr std::uint64_t kBlock = 4096;  // less than this free, and no page can be written any more
constexpr std::size_t kFailureMax = 1024;

std::uint64_t used_of(const Observed& seen, LimitName name) {
  switch (name) {
    case LimitName::kWall: return seen.usage.wall_ms;
    case LimitName::kCpuTime: return seen.usage.cpu_ms;
    case LimitName::kMemory: return seen.usage.memory_peak_bytes;
    case LimitName::kOutput: return seen.output_bytes;
    case LimitName::kDisk: return seen.usage.disk_peak_bytes;
    case LimitName::kPids: return seen.usage.pids_peak;
    case LimitName::kInodes:
    case LimitName::kFileSize:
    case LimitName::kOpenFiles: return 0;
  }
  return 0;
}

std::optional<LimitName> limit_of(EndCause cause) {
  switch (cause) {
    case EndCause::kWall: return LimitName::kWall;
    case EndCause::kCpuTime: return LimitName::kCpuTime;
    case EndCause::kMemory: return LimitName::kMemory;
    case EndCause::kOutput: return LimitName::kOutput;
    case EndCause::kPids: return LimitName::kPids;
    case EndCause::kProgram:
    case EndCause::kCancelled:
    case EndCause::kSetupFailed:
    case EndCause::kLost: return std::nullopt;
  }
  return std::nullopt;
}

// Why the end is ours and not the program's; empty when it is not.
std::string our_failure(const Observed& seen) {
  const bool no_status = seen.cause == EndCause::kProgram && !seen.exit_code && !seen.signal;
  if (seen.cause == EndCause::kSetupFailed || seen.cause == EndCause::kLost || no_status) {
    if (!seen.failure.empty()) return json::one_line(seen.failure, kFailureMax);
    return seen.cause == EndCause::kSetupFailed ? "the box could not be set up"
                                                : "the box was lost and the program's end was not seen";
  }
  if (seen.oom_kills > 0 && seen.memory_limit_hits == std::uint64_t{0} && seen.cause != EndCause::kMemory) {
    return "the host ran out of memory and ended a process of the box, which was within its limit";
  }
  return {};
}

// The limit that ended the run, if one did.
std::optional<LimitName> ending_limit(const Observed& seen) {
  if (seen.oom_kills > 0) return LimitName::kMemory;
  if (const auto named = limit_of(seen.cause)) return named;
  const std::uint64_t cpu_ceiling = ceiling_of(seen.effective, LimitName::kCpuTime);
  if (seen.signal == SIGXCPU && cpu_ceiling > 0 && seen.usage.cpu_ms >= cpu_ceiling)
    return LimitName::kCpuTime;
  const std::uint64_t output_ceiling = ceiling_of(seen.effective, LimitName::kOutput);
  if (output_ceiling > 0 && seen.output_bytes > output_ceiling) return LimitName::kOutput;
  return std::nullopt;
}

// The limit that an uncaught exception speaks of. For what the kernel counts (processes), it must have
// counted; for the rest the report is all there is, and a false one misleads only its own reader.
std::optional<LimitName> limit_behind(const Observed& seen, const GuestException& guest) {
  const std::string_view type = guest.exception.type;
  if (type.ends_with("MemoryError")) return LimitName::kMemory;
  if (type == "RuntimeError" && guest.exception.message == "can't start new thread" &&
      seen.pids_refused > 0) {
    return LimitName::kPids;
  }
  switch (guest.errno_value.value_or(0)) {
    case ENOSPC:
    case EDQUOT: return seen.inodes_full && !seen.disk_full ? LimitName::kInodes : LimitName::kDisk;
    case EFBIG: return LimitName::kFileSize;
    case EMFILE: return LimitName::kOpenFiles;
    case ENOMEM: return LimitName::kMemory;
    case EAGAIN:
      if (seen.pids_refused > 0) return LimitName::kPids;
      break;
    default: break;
  }
  return std::nullopt;
}

std::string hint_of(const Observed& seen, LimitName name) {
  const std::uint64_t ceiling = ceiling_of(seen.effective, name);
  std::string hint = std::string("limit ") + limit_name(name);
  if (ceiling > 0) hint += " (" + limit_amount(name, ceiling) + ")";
  return hint + ": " + limit_advice(name);
}

void meet(Ending& ending, const Observed& seen, LimitName name, std::uint64_t times) {
  for (const MetLimit& met : ending.limits_met) {
    if (met.name == name) return;
  }
  ending.limits_met.push_back({name, ceiling_of(seen.effective, name), times});
}

// The ordinary errors that limits gave, and what was reached beside the limit that is named.
void list_limits_met(Ending& ending, const Observed& seen, std::optional<LimitName> behind) {
  const auto named = [&](LimitName name) { return ending.limit && ending.limit->name == name; };
  if (seen.oom_kills > 0 && !named(LimitName::kMemory) && seen.memory_limit_hits != std::uint64_t{0}) {
    meet(ending, seen, LimitName::kMemory, seen.oom_kills);
  }
  if (const auto cause = limit_of(seen.cause); cause && !named(*cause)) meet(ending, seen, *cause, 1);
  if (seen.pids_refused > 0) meet(ending, seen, LimitName::kPids, seen.pids_refused);
  if (seen.disk_full) meet(ending, seen, LimitName::kDisk, 1);
  if (seen.inodes_full) meet(ending, seen, LimitName::kInodes, 1);
  // The kernel counts neither of these; SIGXFSZ is its word, an errno the guest's.
  if (seen.signal == SIGXFSZ || behind == LimitName::kFileSize) meet(ending, seen, LimitName::kFileSize, 1);
  if (behind == LimitName::kOpenFiles) meet(ending, seen, LimitName::kOpenFiles, 1);
}

void take_exception(Ending& ending, const Observed& seen, std::optional<LimitName> behind) {
  ending.exception = seen.exception->exception;
  if (!behind) return;
  // First, so that no number of the guest's own hints pushes it out.
  ending.exception->hints.insert(ending.exception->hints.begin(), hint_of(seen, *behind));
}

}  // namespace

Observed observed_from(const frame::BoxEnded& ended) {
  Observed seen;
  seen.cause = ended.cause;
  if (ended.has_status != 0) {
    if (ended.signal != 0) {
      seen.signal = static_cast<int>(ended.signal);
    } else {
      seen.exit_code = static_cast<int>(ended.exit_code);
    }
  }
  seen.oom_kills = ended.oom_kills;
  seen.pids_refused = ended.pids_refused;
  // Both zero: the layer was not measured.
  const bool measured = ended.disk_peak_bytes > 0 || ended.disk_free_bytes > 0;
  seen.disk_full = ended.disk_peak_bytes > 0 && ended.disk_free_bytes < kBlock;
  seen.inodes_full = measured && ended.inodes_free == 0;
  seen.usage.wall_ms = ended.wall_us / 1000;
  seen.usage.cpu_ms = ended.cpu_us / 1000;
  seen.usage.memory_peak_bytes = ended.memory_peak_bytes;
  seen.usage.disk_peak_bytes = ended.disk_peak_bytes;
  seen.usage.pids_peak = ended.pids_peak;
  seen.usage.minor_faults = ended.minor_faults;
  return seen;
}

Ending decide(const Observed& seen) {
  Ending ending;
  ending.exit_code = seen.exit_code;
  if (std::string failure = our_failure(seen); !failure.empty()) {
    ending.exit_code.reset();  // whatever is there does not say how the program ended
    ending.status = Status::kUnavailable;
    ending.reason =
        ReasonGiven{seen.failure_reason.value_or(Reason::kSandboxUnavailable), std::move(failure), {}};
    return ending;
  }

  const std::optional<LimitName> limit = ending_limit(seen);
  const bool cpu_signal = limit == LimitName::kCpuTime && seen.signal == SIGXCPU;
  const bool oom_signal = seen.oom_kills > 0 && seen.signal == SIGKILL;
  if (seen.cause == EndCause::kProgram && !cpu_signal && !oom_signal) ending.signal = seen.signal;

  if (seen.cause == EndCause::kCancelled) {
    ending.status = Status::kCancelled;
  } else if (limit) {
    ending.status = Status::kLimit;
    ending.limit =
        EndingLimit{*limit, ceiling_of(seen.effective, *limit), used_of(seen, *limit), limit_advice(*limit)};
  } else if (seen.exit_code == 0) {
    ending.status = Status::kOk;
    if (seen.artifacts_not_stored > 0) {
      ending.status = Status::kUnavailable;
      ending.reason =
          ReasonGiven{Reason::kArtifactNotStored,
                      std::to_string(seen.artifacts_not_stored) +
                          " declared artifact(s) could not be stored; the program itself ended well",
                      {}};
    }
  } else {
    ending.status = Status::kError;
  }

  const bool believable = seen.exception && seen.exit_code != 0;
  const std::optional<LimitName> behind = believable ? limit_behind(seen, *seen.exception) : std::nullopt;
  if (believable) take_exception(ending, seen, behind);
  list_limits_met(ending, seen, behind);
  return ending;
}

Ending refusal(Reason reason, std::string_view message, std::optional<std::uint64_t> retry_after_ms) {
  Ending ending;
  ending.status = status_of(reason);
  ending.reason = ReasonGiven{reason, json::one_line(message, kFailureMax), retry_after_ms};
  return ending;
}

}  // namespace casemate::outcome
