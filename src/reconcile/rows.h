// What is joined: records of the audit log, and what others saw. Pure; all of it but the records is hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/line.h"
#include "base/result.h"

namespace casemate::reconcile {

using audit::Time;

// A record that says something of a run.
struct Record {
  enum class Kind { kAllocated, kExecuted, kTornDown, kVerdict, kApproval, kResult };
  Kind kind = Kind::kVerdict;
  std::string run;
  std::string call;         // empty: of the run itself
  std::string capability;   // of a call
  std::string word;         // the verdict, the answer, the status
  std::string key;          // of a verdict: what its effect is known by
  std::string box, volume;  // of the run
  std::uint64_t artifacts = 0;
  std::uint64_t writer = 0;  // which log it is in
  std::uint64_t order = 0;   // in all that was read: of one log, its order
  Time at;
};

// Of a line of the log; nothing: it says nothing of a run. Errors: invalid.
Result<std::optional<Record>> record_of(std::string_view line);

// One effect, as whoever stands at the boundary wrote it down.
struct Effect {
  std::string key, capability, run;
  Time at;
  std::string where;  // which line of which file
};

// A JSON object with "idempotency_key", "capability", "run" and "at", and what else there may be.
// Errors: invalid, saying what is missing.
Result<Effect> effect_of(std::string_view line);
// The same of what a peer is asked (docs/tools.md), which has no "at" and may be as long as kRequestLineMax.
Result<Effect> request_of(std::string_view line);
// A line for effect_of(), with its line feed: what a tap writes.
std::string effect_line(const Effect& effect);

// The record of one box (docs/records.md).
struct Box {
  std::string run;  // empty: none had it
  std::string box, volume, verdict;
  bool born = false;
  std::optional<Time> asked_at;
  std::string where;
};
Result<Box> box_of(std::string_view line);

// "2026-07-30T12:00:00Z" with at most six digits of a fraction. Errors: invalid.
Result<Time> time_of(std::string_view text);

inline constexpr std::size_t kEffectLineMax = std::size_t{64} << 10;
inline constexpr std::size_t kRequestLineMax = std::size_t{2} << 20;
inline constexpr std::size_t kBoxLineMax = std::size_t{256} << 10;
inline constexpr std::size_t kNameMax = 256;  // bytes of any name or id here

}  // namespace casemate::reconcile
