// The birth and death record of one box: what it was when its program came, and what was shown when it
// was over. Of every box that was asked for, in a slot or made for its run, with a run or without.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/writer.h"

namespace casemate::outcome {

struct BoxRecord {
  using Time = std::chrono::system_clock::time_point;

  struct Row {
    std::string name;
    std::string state;   // of a wall "on", "off" or "waived" (a weakening or the host takes it away, and a
                         // request may have such a box); of a proof "on" (shown) or "off" (not shown)
    std::string proves;  // what a row shows, and what it does not; empty where its name says it
  };

  std::string box;  // "box_…"
  std::string run;  // empty: no run had it
  // Of a slot, counted from 1 in one process of casemate; 0: the box was made for its run.
  std::uint64_t slot = 0, nest = 0;
  std::string image;        // digest
  std::string isolation;    // "jail": its rung
  std::string level;        // "hot", "warm" or "cold"
  std::string cold_reason;  // why a run has no slot; empty when it has one

  // Birth. A box that never was whole has no `born_at`, no walls and no outside id.
  std::string volume;
  std::optional<Time> asked_at, born_at;
  std::optional<std::uint32_t> outside_id;  // its user id on the host
  std::optional<std::uint64_t> setup_us;    // from the request to a box that is ready
  std::vector<Row> walls;

  // Death.
  std::string why;      // why it was over: "its run is over", "it could not be made: …"
  std::string verdict;  // "destroyed" or "quarantined"
  std::string quarantined_for;
  std::vector<Row> proof;  // empty: its warden is gone and said nothing
  std::optional<Time> leased_at, over_at, dead_at;
  std::optional<std::uint64_t> teardown_us;
};

// One JSON object. Times are RFC 3339, in UTC, with milliseconds.
void write_record(json::Writer& out, const BoxRecord& record);
// For a person: some lines, each ended by a newline, with two spaces before all but the first.
std::string record_text(const BoxRecord& record);

}  // namespace casemate::outcome
