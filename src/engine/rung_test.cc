#include "engine/rung.h"

#include <gtest/gtest.h>

namespace casemate::engine {
namespace {

using frame::Rung;

struct Row {
  Trust trust;
  bool below_floor;
  Isolation isolation;
  const char* rung;  // "jail", "gvisor below", or what the refusal says
  bool refused = false;
};

void check(const std::vector<Row>& rows, const Rungs& rungs) {
  for (const Row& row : rows) {
    Request request;
    request.trust = row.trust;
    request.isolation = row.isolation;
    request.weakenings.below_floor = row.below_floor;
    const auto choice = choose_rung(request, rungs);
    const std::string asked = std::string(trust_name(row.trust)) + ", " + isolation_name(row.isolation);
    ASSERT_EQ(!choice, row.refused) << asked;
    if (row.refused) {
      EXPECT_EQ(choice.error().code, ErrorCode::kDenied);
      EXPECT_NE(choice.error().message.find(row.rung), std::string::npos) << choice.error().message;
    } else {
      EXPECT_EQ(rung_name(choice->rung) + std::string(choice->below_floor ? " below" : ""), row.rung)
          << asked;
    }
  }
}

TEST(ChooseRung, RunsShareASandboxOnGvisorAlone) {
  Rungs rungs;
  rungs.no_gvisor.clear();
  Request request;
  request.sandbox = Sandbox::kShared;
  ASSERT_TRUE(choose_rung(request, rungs));
  EXPECT_EQ(choose_rung(request, rungs)->rung, Rung::kGvisor);
  request.trust = Trust::kTrusted;  // which has the jail, unless it says otherwise
  const auto refused = choose_rung(request, rungs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_NE(refused.error().message.find("'gvisor' alone"), std::string::npos) << refused.error().message;
  request.isolation = Isolation::kGvisor;
  EXPECT_TRUE(choose_rung(request, rungs));
}

TEST(ChooseRung, KeepsTheMapOfTrustToRungsWhereThereIsGvisor) {
  Rungs rungs;
  rungs.no_gvisor.clear();
  check(
      {
          {Trust::kTrusted, false, Isolation::kAuto, "jail"},
          {Trust::kTrusted, false, Isolation::kGvisor, "gvisor"},
          {Trust::kUntrusted, false, Isolation::kAuto, "gvisor"},
          {Trust::kUntrusted, true, Isolation::kAuto, "gvisor"},
          {Trust::kUntrusted, false, Isolation::kJail, "'jail' is weaker", true},
          {Trust::kUntrusted, true, Isolation::kJail, "jail below"},
          {Trust::kHostile, false, Isolation::kAuto, "needs the rung 'microvm'", true},
          {Trust::kHostile, false, Isolation::kGvisor, "'gvisor' is weaker", true},
          {Trust::kHostile, true, Isolation::kAuto, "gvisor below"},
          {Trust::kHostile, true, Isolation::kJail, "jail below"},
          {Trust::kTrusted, true, Isolation::kMicrovm, "'microvm' is not there", true},
      },
      rungs);
}

TEST(ChooseRung, CountsAnEmulatedMachineAsTheJailAroundIt) {
  Rungs rungs;
  rungs.no_gvisor.clear();
  rungs.no_microvm.clear();
  check(
      {
          {Trust::kTrusted, false, Isolation::kMicrovm, "microvm"},
          {Trust::kTrusted, false, Isolation::kAuto, "jail"},
          {Trust::kUntrusted, false, Isolation::kAuto, "gvisor"},
          {Trust::kUntrusted, false, Isolation::kMicrovm, "emulated in software", true},
          {Trust::kUntrusted, true, Isolation::kMicrovm, "microvm below"},
          {Trust::kHostile, false, Isolation::kAuto, "emulated in software", true},
          {Trust::kHostile, false, Isolation::kMicrovm, "/dev/kvm", true},
          {Trust::kHostile, true, Isolation::kAuto, "gvisor below"},
          {Trust::kHostile, true, Isolation::kMicrovm, "microvm below"},
      },
      rungs);
  rungs.emulated = false;
  check(
      {
          {Trust::kTrusted, false, Isolation::kAuto, "jail"},
          {Trust::kUntrusted, false, Isolation::kAuto, "gvisor"},
          {Trust::kUntrusted, false, Isolation::kMicrovm, "microvm"},
          {Trust::kHostile, false, Isolation::kAuto, "microvm"},
      },
      rungs);
}

TEST(ChooseRung, SaysWhatEmulatesAMachine) {
  Rungs rungs;
  rungs.no_microvm.clear();
  Request request;
  request.trust = Trust::kTrusted;
  EXPECT_STREQ(choose_rung(request, rungs)->accelerator, "");
  request.isolation = Isolation::kMicrovm;
  EXPECT_STREQ(choose_rung(request, rungs)->accelerator, "tcg");
  rungs.emulated = false;
  EXPECT_STREQ(choose_rung(request, rungs)->accelerator, "kvm");
}

TEST(ChooseRung, ReplacesNoRungThatIsNotThereByAWeakerOne) {
  check(
      {
          {Trust::kTrusted, false, Isolation::kAuto, "jail"},
          {Trust::kUntrusted, false, Isolation::kAuto, "install Debian's package runsc", true},
          {Trust::kUntrusted, true, Isolation::kAuto, "jail below"},
          {Trust::kHostile, false, Isolation::kAuto, "needs the rung 'microvm'", true},
          {Trust::kHostile, true, Isolation::kAuto, "jail below"},
          {Trust::kTrusted, false, Isolation::kGvisor, "'gvisor' is not there", true},
          {Trust::kTrusted, true, Isolation::kGvisor, "'gvisor' is not there", true},
          {Trust::kUntrusted, true, Isolation::kGvisor, "'gvisor' is not there", true},
      },
      {});
}

TEST(ChooseRung, GivesNoRuntimeThatNothingBounds) {
  Rungs rungs;
  rungs.no_gvisor.clear();
  Request request;
  request.weakenings.no_cgroup = true;
  auto choice = choose_rung(request, rungs);
  ASSERT_FALSE(choice);
  EXPECT_NE(choice.error().message.find("--weaken no-cgroup"), std::string::npos);
  request.isolation = Isolation::kGvisor;
  EXPECT_FALSE(choose_rung(request, rungs));
  request.isolation = Isolation::kAuto;
  request.weakenings.below_floor = true;
  choice = choose_rung(request, rungs);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->rung, Rung::kJail);
  EXPECT_TRUE(choice->below_floor);
}

TEST(WantedRung, IsTheNamedOneOrTheFloor) {
  Request request;
  EXPECT_STREQ(wanted_rung(request), "gvisor");
  request.trust = Trust::kHostile;
  EXPECT_STREQ(wanted_rung(request), "microvm");
  request.isolation = Isolation::kJail;
  EXPECT_STREQ(wanted_rung(request), "jail");
}

TEST(ChooseRung, TakesARequestForUntrustedUnlessItSaysOtherwise) {
  const auto choice = choose_rung(Request{}, {});
  ASSERT_FALSE(choice);
  EXPECT_NE(choice.error().message.find("untrusted unless it says otherwise"), std::string::npos);
}

}  // namespace
}  // namespace casemate::engine
