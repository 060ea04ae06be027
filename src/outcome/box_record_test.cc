#include "outcome/box_record.h"

#include <gtest/gtest.h>

namespace casemate::outcome {
namespace {

BoxRecord::Time at(int ms) { return BoxRecord::Time(std::chrono::milliseconds(1'700'000'000'000 + ms)); }

BoxRecord whole() {
  BoxRecord record;
  record.box = "box_1";
  record.run = "run_1";
  record.slot = 3;
  record.nest = 1;
  record.isolation = "jail";
  record.image = "sha256:00";
  record.level = "hot";
  record.volume = "vol_1";
  record.asked_at = at(0);
  record.born_at = at(25);
  record.outside_id = 1'879'048'193;
  record.setup_us = 25'400;
  record.walls = {{"PidNs", "on", ""}, {"OwnDevices", "waived", ""}, {"Seccomp", "off", ""}};
  record.why = "its run is over";
  record.verdict = "destroyed";
  record.proof = {{"init_reaped", "on", "nobody is left"}};
  record.leased_at = at(30);
  record.over_at = at(31);
  record.dead_at = at(34);
  record.teardown_us = 1500;
  return record;
}

std::string json_of(const BoxRecord& record) {
  json::Writer out;
  write_record(out, record);
  return std::move(out).take();
}

TEST(BoxRecord, IsOneJsonObject) {
  EXPECT_EQ(
      json_of(whole()),
      R"({"box":"box_1","run":"run_1","slot":3,"nest":1,"image":"sha256:00","isolation":"jail","level":"hot",)"
      R"("birth":{"volume":"vol_1","asked_at":"2023-11-14T22:13:20.000Z",)"
      R"("born_at":"2023-11-14T22:13:20.025Z","outside_id":1879048193,"setup_us":25400,)"
      R"("walls":[{"name":"PidNs","state":"on"},{"name":"OwnDevices","state":"waived"},)"
      R"({"name":"Seccomp","state":"off"}]},)"
      R"("death":{"why":"its run is over","verdict":"destroyed",)"
      R"("leased_at":"2023-11-14T22:13:20.030Z","over_at":"2023-11-14T22:13:20.031Z",)"
      R"("dead_at":"2023-11-14T22:13:20.034Z","teardown_us":1500,)"
      R"("proof":[{"name":"init_reaped","state":"on","proves":"nobody is left"}]}})");
}

TEST(BoxRecord, OfABoxThatNeverWasWholeClaimsNothing) {
  BoxRecord record;
  record.box = "box_2";
  record.level = "cold";
  record.cold_reason = "no zygote yet";
  record.why = "it could not be made: mount /proc";
  record.verdict = "quarantined";
  EXPECT_EQ(json_of(record),
            R"({"box":"box_2","image":"","isolation":"","level":"cold","cold_reason":"no zygote yet",)"
            R"("birth":{"volume":"","walls":[]},)"
            R"("death":{"why":"it could not be made: mount /proc","verdict":"quarantined","proof":[]}})");
  const std::string text = record_text(record);
  EXPECT_NE(text.find("cold: made for its run, since no zygote yet\n"), std::string::npos) << text;
  EXPECT_NE(text.find("never whole\n"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing was shown of its end\n"), std::string::npos) << text;
}

TEST(BoxRecord, SaysToAPersonWhichWallsAndProofsAreMissing) {
  BoxRecord record = whole();
  record.proof.push_back({"groups_removed", "off", "its groups are gone"});
  const std::string text = record_text(record);
  EXPECT_NE(text.find("walls on: PidNs\n  walls waived: OwnDevices\n  walls off: Seccomp\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("init_reaped shown: "), std::string::npos) << text;
  EXPECT_NE(text.find("groups_removed NOT shown: "), std::string::npos) << text;
  EXPECT_NE(text.find("hot: slot 3 of nest 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace casemate::outcome
