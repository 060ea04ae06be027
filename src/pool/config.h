// What a pool is told once: the amounts that it may use, and its classes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "pool/preload.h"

namespace casemate::pool {

// May a request be given a slot of a larger preload set? It then finds modules in sys.modules that it
// did not import, and pays for nothing.
enum class LargerSet { kRefuse, kServe };

struct PoolConfig {
  // What slots and nests may cost together. A slot costs its class's estimate from the day it is asked
  // for until it is proved destroyed; a quarantined one costs it for good.
  Bytes memory_budget = gib(1);
  std::array<Bytes, kPreloadSets.size()> nest_cost = {mib(24), mib(48), mib(128)};  // by preload_index()
  std::array<Bytes, kPreloadSets.size()> template_cost = {mib(144), mib(176), mib(288)};
  std::array<Bytes, kPreloadSets.size()> sandbox_cost = {mib(64), mib(96), mib(160)};

  std::size_t slots_max = 64;  // quarantined ones included
  std::size_t nests_max = 8;
  std::size_t preparing_max = 1;  // nests starting and slots creating at once
  // Slots that were handed out, or whose destruction has begun, and that are not proved destroyed yet. A
  // checkout beyond it is cold, so that what is not torn down cannot pile up behind what runs.
  std::size_t teardown_debt_max = 16;
  std::size_t quarantined_max = 8;  // one more stops the pool: something is wrong with the host

  // A nest that has forked so often, or is that old, is replaced: forks share address layout and hash seeds.
  std::size_t nest_forks_max = 500;
  milliseconds nest_age_max{600'000};
  milliseconds slot_age_max{300'000};  // a slot parked for longer is destroyed

  // Long, since what fails here is begun again from nothing: an interpreter that is read from a disk for the
  // first time took more than ten seconds on an emulated machine.
  milliseconds nest_start_max{30'000};
  milliseconds template_start_max{120'000};
  // The warden gives them no longer: a machine that was restored rehearses again, on an emulated processor.
  milliseconds slot_create_max{20'000}, restored_create_max{40'000};
  // Then it is quarantined. Longer than a warden tries to show that a slot is gone, which is 10 s to end it
  // and 10 s to remove its groups: what it says in the end says more than that it took long.
  milliseconds teardown_max{25'000};

  milliseconds backoff_min{250};
  milliseconds backoff_max{60'000};

  LargerSet larger_set = LargerSet::kRefuse;
};

// Where the slots of a class come from.
enum class Origin {
  kZygote,    // forked
  kAlone,     // from nothing: each prepares itself. Its nests are there in name, and cost nothing
  kTemplate,  // restored: its nest is what was saved of a slot that had prepared itself
  kShared,    // forked in a sandbox that one slot after another has: a nest that holds one at a time
};

// One kind of slot. Requests with the same key and preload set can use the same slots.
struct SlotClass {
  std::string key;    // image digest, limits and weakenings, as its maker wrote them; opaque here
  std::string image;  // with the preload set: which nest. Opaque too
  PreloadSet preload = PreloadSet::kBare;
  Bytes slot_cost = mib(4);  // what a parked or running slot is expected to take
  Origin origin = Origin::kZygote;

  // Hot slots to keep: hot_min always, up to hot_max when checkouts of the last minute ask for them.
  std::size_t hot_min = 0;
  std::size_t hot_max = 4;
  std::size_t warm = 0;  // to keep beside the hot ones
  // Rows of the birth and death records that need not be `on`, because a weakening was asked for by name.
  std::vector<std::string> waived;
};

// Errors: invalid (a zero where nothing could work, more than limits.h allows, a minimum above its maximum).
Result<void> check_config(const PoolConfig& config);
Result<void> check_class(const SlotClass& slot_class);

}  // namespace casemate::pool
