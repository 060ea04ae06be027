#include "pool/slot.h"

#include <algorithm>

namespace casemate::pool {

const char* level_name(Level level) {
  switch (level) {
    case Level::kHot: return "hot";
    case Level::kWarm: return "warm";
    case Level::kCold: return "cold";
  }
  return "?";
}

const char* slot_state_name(SlotState state) {
  switch (state) {
    case SlotState::kCreating: return "creating";
    case SlotState::kWarm: return "warm";
    case SlotState::kHot: return "hot";
    case SlotState::kLeased: return "leased";
    case SlotState::kRunning: return "running";
    case SlotState::kTearingDown: return "tearing_down";
    case SlotState::kProving: return "proving";
    case SlotState::kDestroyed: return "destroyed";
    case SlotState::kQuarantined: return "quarantined";
  }
  return "?";
}

bool may_follow(SlotState from, SlotState to) {
  using enum SlotState;
  switch (from) {
    case kCreating: return to == kWarm || to == kHot || to == kTearingDown;
    case kWarm: return to == kHot || to == kLeased || to == kTearingDown || to == kQuarantined;
    case kHot: return to == kLeased || to == kTearingDown || to == kQuarantined;
    case kLeased: return to == kRunning || to == kTearingDown || to == kQuarantined;
    case kRunning: return to == kTearingDown || to == kQuarantined;
    case kTearingDown: return to == kProving || to == kQuarantined;
    case kProving: return to == kDestroyed || to == kQuarantined;
    case kDestroyed:
    case kQuarantined: return false;
  }
  return false;
}

const char* row_state_name(RowState state) {
  switch (state) {
    case RowState::kOff: return "off";
    case RowState::kOn: return "on";
    case RowState::kUnavailable: return "unavailable";
  }
  return "?";
}

std::vector<Row> death_rows(const DeathProof& proof) {
  return {
      {"init_reaped", proof.init_reaped,
       "the first process of its pid namespace was waited for, so no process of it is left; not that its "
       "memory is already free"},
      {"groups_empty", proof.groups_empty,
       "no task runs in any of its control groups; not that every zombie was waited for"},
      {"groups_removed", proof.groups_removed,
       "its control groups are gone; not that what was charged to them is"},
      {"layer_released", proof.layer_released,
       "our last reference to its files is closed; not that nobody was handed a descriptor before"},
  };
}

std::vector<Row> clean_rows(const CleanProof& proof) {
  return {
      {"processes_gone", proof.processes_gone,
       "its sandbox's zygote ended all and found nobody left but itself and the first process; not that the "
       "sandbox's kernel is another one"},
      {"mounts_gone", proof.mounts_gone,
       "all that it could write to was unmounted, which no open file stood in the way of; not that the "
       "memory is "
       "free"},
      {"channels_closed", proof.channels_closed,
       "the host's kernel says that nobody has the other ends of its output and of its control socket; they "
       "were "
       "its own"},
  };
}

std::string unproven_reason(const Row& row) {
  return "its destruction was not shown: " + row.name + " is " + row_state_name(row.state);
}

const Row* first_unproven(const std::vector<Row>& rows, const std::vector<std::string>& waived) {
  for (const Row& row : rows) {
    if (row.state == RowState::kOn) continue;
    if (std::find(waived.begin(), waived.end(), row.name) == waived.end()) return &row;
  }
  return nullptr;
}

}  // namespace casemate::pool
