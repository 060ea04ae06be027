// One judged call, from its record to its answer. Runs on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "audit/record.h"
#include "audit/recorded.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "bridge/bridge.h"
#include "bridge/reply.h"
#include "bridge/toolbox.h"

namespace casemate::bridge {

// What a thread needs to make a call. Owns all but the log and what Grants says.
struct Job {
  std::shared_ptr<const Grants> grants;
  const Granted* granted = nullptr;  // of grants
  std::uint64_t number = 0;          // the guest's
  std::string arguments;
  audit::Verdict verdict;
  Bytes result_max;
  Instant begun;
  std::size_t told = 0;  // where the bridge tells of it, from 1; 0: nowhere
  // Of one that a person is asked about.
  std::optional<audit::Asked> asked{};  // its verdict is recorded
  Instant asked_at{};
  std::optional<audit::Approval> approval{};  // it is settled
  std::string refusal{};                      // in words, when that is no
};

struct Performed {
  Reply reply;
  const char* status = "";  // of the outcome: "ok", "error", "denied", "unavailable", "unknown"
  bool reached = false;     // what it answered, if anything, is about to reach the guest
  bool waits = false;       // for a person: there is no answer yet
};

// Twice of a call that waits for a person: until it is asked, and once it is settled.
Performed perform(Job& job);

}  // namespace casemate::bridge
