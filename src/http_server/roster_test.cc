#include "http_server/roster.h"

#include <gtest/gtest.h>

#include "http_server/socket.h"

namespace casemate::http_server {
namespace {

using Stage = Roster::Stage;

class RosterTest : public testing::Test {
 protected:
  struct Seated {
    sys::Pair pair;
    Roster::Place place;
    bool is_cut() const { return peer_is_gone(pair.second); }
  };
  Seated seat() {
    Seated seated{sys::make_stream_pair().value(), {}};
    seated.place = roster_.enter(seated.pair.first);
    return seated;
  }
  Roster roster_;
};

TEST_F(RosterTest, NewOnesGoFirstThenIdleOnesThenThoseThatSendABodyAndBusyOnesNever) {
  const Seated reading = seat(), idle_longest = seat(), idle = seat(), busy = seat(), oldest = seat(),
               newest = seat();
  EXPECT_TRUE(roster_.move(reading.place, Stage::kReading));
  EXPECT_TRUE(roster_.move(idle_longest.place, Stage::kIdle));
  EXPECT_TRUE(roster_.move(idle.place, Stage::kIdle));
  EXPECT_TRUE(roster_.move(busy.place, Stage::kBusy));
  for (const Seated* next : {&oldest, &newest, &idle_longest, &idle, &reading}) {
    EXPECT_FALSE(next->is_cut());
    EXPECT_TRUE(roster_.cut_one_waiting());
    EXPECT_TRUE(next->is_cut());
  }
  EXPECT_FALSE(roster_.cut_one_waiting());
  EXPECT_FALSE(busy.is_cut());
}

TEST_F(RosterTest, WhoIsCutBeginsNothing) {
  const Seated seated = seat();
  EXPECT_TRUE(roster_.cut_one_waiting());
  EXPECT_FALSE(roster_.move(seated.place, Stage::kBusy));
  roster_.leave(seated.place);
  EXPECT_EQ(roster_.cut_all(), 0U);
}

TEST_F(RosterTest, DrainingCutsWhatWaitsAndWhatBeginsToWait) {
  const Seated waiting = seat(), busy = seat(), reading = seat();
  EXPECT_TRUE(roster_.move(busy.place, Stage::kBusy));
  EXPECT_TRUE(roster_.move(reading.place, Stage::kReading));
  roster_.drain();
  EXPECT_TRUE(waiting.is_cut());
  EXPECT_FALSE(busy.is_cut());
  EXPECT_TRUE(roster_.move(reading.place, Stage::kBusy)) << "its body was on the way";
  const Seated late = seat();
  EXPECT_TRUE(late.is_cut());
  EXPECT_FALSE(roster_.move(busy.place, Stage::kIdle));
  EXPECT_TRUE(busy.is_cut());
}

TEST_F(RosterTest, AllAreCutOnce) {
  const Seated first = seat(), second = seat();
  EXPECT_TRUE(roster_.move(first.place, Stage::kBusy));
  EXPECT_EQ(roster_.cut_all(), 2U);
  EXPECT_EQ(roster_.cut_all(), 0U);
  EXPECT_TRUE(first.is_cut() && second.is_cut());
}

}  // namespace
}  // namespace casemate::http_server
