// The records of an engine's boxes: from what the pool and the warden say of a box to what is kept of it.
// The pool keeps a SlotRecord of each slot; a box that is made for its run has one of the same kind.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "box/spec.h"
#include "frame/warden.h"
#include "outcome/box_record.h"
#include "pool/slot.h"

namespace casemate::engine {

// What is known of a box beside what its SlotRecord says.
struct BoxFacts {
  std::string box;  // "box_…"
  std::string run;  // empty: none had it
  std::string image;
  std::string isolation;  // its rung
  std::string volume;
  std::string cold_reason;
  std::optional<std::uint64_t> outside_id, setup_us, teardown_us;
  std::vector<std::string> waived;  // walls that it need not have
};

// The walls that such a box need not have: by what was asked for by name, and by what the host does not let
// an ordinary user make. `walls_off`: test builds only.
std::vector<std::string> waived_walls(const box::Weakenings& asked, const frame::Hello& host,
                                      frame::Rung rung, std::uint64_t walls_off = 0);
pool::BirthRecord birth_of(const std::string& volume, std::uint64_t walls_on);
pool::DeathProof proof_of(const frame::BoxGone& gone);

// `at` is now, by the clock that the record's times are of.
outcome::BoxRecord box_record(const pool::SlotRecord& record, BoxFacts facts, Instant at);

// The last kBoxRecordsMax of them; the oldest goes first.
class BoxRecords {
 public:
  void add(outcome::BoxRecord record);
  // That of the box with this volume, of which none has another's.
  const outcome::BoxRecord* find(const std::string& volume) const;
  // All of them, oldest first; none is left.
  std::vector<outcome::BoxRecord> take();

 private:
  std::deque<outcome::BoxRecord> records_;
};

}  // namespace casemate::engine
