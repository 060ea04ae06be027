#include "engine/box_records.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "frame/walls.h"

namespace casemate::engine {
namespace {

using frame::Wall;
using outcome::BoxRecord;

std::string wall_state(const pool::Row& row, const std::vector<std::string>& waived) {
  if (row.state == pool::RowState::kOn) return "on";
  const bool may = std::find(waived.begin(), waived.end(), row.name) != waived.end();
  return may ? "waived" : pool::row_state_name(row.state);
}

}  // namespace

std::vector<std::string> waived_walls(const box::Weakenings& asked, const frame::Hello& host,
                                      frame::Rung rung, std::uint64_t walls_off) {
  std::vector<std::string> waived;
  const auto waive = [&](Wall wall) { waived.emplace_back(frame::wall_name(wall)); };
  for (unsigned i = 0; i < static_cast<unsigned>(Wall::kCount); ++i) {
    if ((walls_off >> i & 1U) != 0) waive(static_cast<Wall>(i));
  }
  for (unsigned i = 0; i < static_cast<unsigned>(Wall::kCount); ++i) {
    if ((frame::walls_of_runtime(rung) >> i & 1U) != 0)
      waive(static_cast<Wall>(i));  // its guest's kernel has them
  }
  if ((walls_off & frame::wall_bit(Wall::kMinimalDev)) != 0)
    waive(Wall::kOwnDevices);  // of a /dev it has not
  if (host.by_root == 0) waive(Wall::kOwnDevices);
  if (host.by_root == 0 && asked.single_id) {
    waive(Wall::kNestIds);
    waive(Wall::kSlotId);
  }
  if (asked.no_cgroup) {
    for (const Wall wall : {Wall::kMemoryLimit, Wall::kPidsLimit, Wall::kCpuShare, Wall::kCpuTime})
      waive(wall);
  }
  return waived;
}

pool::BirthRecord birth_of(const std::string& volume, std::uint64_t walls_on) {
  pool::BirthRecord birth;
  birth.volume = volume;
  for (unsigned i = 0; i < static_cast<unsigned>(Wall::kCount); ++i) {
    const auto wall = static_cast<Wall>(i);
    const bool on = (walls_on & frame::wall_bit(wall)) != 0;
    birth.rows.push_back({frame::wall_name(wall), on ? pool::RowState::kOn : pool::RowState::kOff, ""});
  }
  return birth;
}

pool::DeathProof proof_of(const frame::BoxGone& gone) {
  const auto row = [](std::uint32_t shown) {
    return shown != 0 ? pool::RowState::kOn : pool::RowState::kOff;
  };
  return {row(gone.init_reaped), row(gone.groups_empty), row(gone.groups_removed), row(gone.layer_released)};
}

BoxRecord box_record(const pool::SlotRecord& record, BoxFacts facts, Instant at) {
  const auto wall_clock = BoxRecord::Time::clock::now();
  const auto time_of = [&](std::optional<Instant> when) -> std::optional<BoxRecord::Time> {
    if (!when) return std::nullopt;
    return wall_clock - std::chrono::duration_cast<BoxRecord::Time::duration>(at - *when);
  };
  BoxRecord made;
  made.box = std::move(facts.box);
  made.run = std::move(facts.run);
  made.slot = record.slot.value;
  made.nest = record.nest.value;
  made.image = std::move(facts.image);
  made.isolation = std::move(facts.isolation);
  const bool never_ready = made.slot != 0 && record.level == pool::Level::kCold;
  made.level = never_ready ? "none" : pool::level_name(record.level);
  made.cold_reason = std::move(facts.cold_reason);
  made.volume = std::move(facts.volume);
  made.asked_at = time_of(record.birth.asked_at);
  made.born_at = time_of(record.birth.ready_at);
  if (made.born_at) {
    if (facts.outside_id) made.outside_id = static_cast<std::uint32_t>(*facts.outside_id);
    made.setup_us = facts.setup_us;
  }
  for (const pool::Row& row : record.birth.rows)
    made.walls.push_back({row.name, wall_state(row, facts.waived), row.proves});
  const pool::DeathRecord& death = record.death;
  made.why = death.why;
  // What nobody has shown to be gone is not taken to be.
  made.verdict = pool::slot_state_name(death.ended_at ? death.ended_as : pool::SlotState::kQuarantined);
  made.quarantined_for = death.ended_at ? death.quarantined_for : "nothing was shown of its end";
  for (const pool::Row& row : death.rows)
    made.proof.push_back({row.name, pool::row_state_name(row.state), row.proves});
  made.leased_at = time_of(death.leased_at);
  made.over_at = time_of(death.over_at);
  made.dead_at = time_of(death.ended_at);
  made.teardown_us = facts.teardown_us;
  return made;
}

void BoxRecords::add(BoxRecord record) {
  if (records_.size() == kBoxRecordsMax) records_.pop_front();
  records_.push_back(std::move(record));
}

const BoxRecord* BoxRecords::find(const std::string& volume) const {
  const auto found = std::find_if(records_.rbegin(), records_.rend(),
                                  [&](const BoxRecord& record) { return record.volume == volume; });
  return found == records_.rend() ? nullptr : &*found;
}

std::vector<BoxRecord> BoxRecords::take() {
  std::vector<BoxRecord> all(std::make_move_iterator(records_.begin()),
                             std::make_move_iterator(records_.end()));
  records_.clear();
  return all;
}

}  // namespace casemate::engine
