#include "pool/slot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace casemate::pool {
namespace {

TEST(SlotStates, FollowTheTable) {
  using enum SlotState;
  const std::vector<SlotState> states = {kCreating,    kWarm,    kHot,       kLeased,     kRunning,
                                         kTearingDown, kProving, kDestroyed, kQuarantined};
  // A row for each state, a column for each state that may follow, both in the order above.
  const std::vector<std::string> table = {
      ".xx..x...",  // creating
      "..xx.x..x",  // warm
      "...x.x..x",  // hot
      "....xx..x",  // leased
      ".....x..x",  // running
      "......x.x",  // tearing_down
      ".......xx",  // proving
      ".........",  // destroyed
      ".........",  // quarantined
  };
  for (std::size_t from = 0; from < states.size(); ++from) {
    for (std::size_t to = 0; to < states.size(); ++to) {
      EXPECT_EQ(may_follow(states[from], states[to]), table[from][to] == 'x')
          << slot_state_name(states[from]) << " to " << slot_state_name(states[to]);
    }
  }
}

TEST(SlotRecords, ARowMustBeOnUnlessItIsWaived) {
  const std::vector<Row> rows = {{"seccomp", RowState::kOn, ""},
                                 {"landlock", RowState::kUnavailable, ""},
                                 {"mounts", RowState::kOff, ""}};
  ASSERT_NE(first_unproven(rows, {}), nullptr);
  EXPECT_EQ(first_unproven(rows, {})->name, "landlock");
  ASSERT_NE(first_unproven(rows, {"landlock"}), nullptr);
  EXPECT_EQ(first_unproven(rows, {"landlock"})->name, "mounts");
  EXPECT_EQ(first_unproven(rows, {"mounts", "landlock"}), nullptr);
}

TEST(SlotRecords, AnEmptyProofProvesNothing) {
  for (const Row& row : death_rows({})) {
    EXPECT_EQ(row.state, RowState::kOff);
    EXPECT_FALSE(row.proves.empty());
  }
}

}  // namespace
}  // namespace casemate::pool
