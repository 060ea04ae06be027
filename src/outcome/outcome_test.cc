#include "outcome/outcome.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace casemate::outcome {
namespace {

TEST(Outcome, AnEmptyOneHasEveryFieldThatIsNotOptional) {
  EXPECT_EQ(
      write_json(Outcome()),
      R"({"run_id":"","sandbox_id":"","tenant":"","volume":{"id":"","state":"fresh"},"image_digest":"",)"
      R"("isolation":"","program_sha256":"","limits":{"requested":{},"effective":{}},)"
      R"("status":"unavailable","limits_met":[],)"
      R"("stdout":{"text":"","bytes":0,"truncated":false,"lossy":false},)"
      R"("stderr":{"text":"","bytes":0,"truncated":false,"lossy":false},)"
      R"("output":[],"artifacts":[],"calls":[],"labels":[],"withheld":[],)"
      R"("usage":{"wall_ms":0,"cpu_ms":0,"memory_peak_bytes":0,"disk_peak_bytes":0,"pids_peak":0,)"
      R"("occupied_ms":0,"minor_faults":0},)"
      R"("timing":{"queue_wait_ms":0,"checkout_ms":0,"execution_ms":0,"artifact_ms":0,"teardown_ms":0},)"
      R"("teardown":{"verdict":"pending"},"report":""})");
}

Outcome full_outcome() {
  Outcome outcome;
  outcome.run_id = "run_1";
  outcome.sandbox_id = "sbx_1";
  outcome.tenant = "acme";
  outcome.task_id = "task_1";
  outcome.session_id = "ses_1";
  outcome.volume = {.id = "vol_1", .inherited = true, .version = "sha256:v"};
  outcome.image_digest = "sha256:i";
  outcome.isolation = "jail";
  outcome.below_floor = true;
  outcome.weakenings = {{"no-cgroup", "much is lost"}};
  outcome.program_sha256 = "p";
  outcome.policy_digest = "q";
  outcome.requested.wall_ms = 30000;
  outcome.effective.wall_ms = 20000;
  outcome.effective.cpus = 0.5;
  outcome.ending.status = Status::kLimit;
  outcome.ending.exit_code = 0;
  outcome.ending.signal = SIGSEGV;
  outcome.ending.limit = EndingLimit{LimitName::kMemory, 10, 9, "advice"};
  outcome.ending.limits_met = {{LimitName::kPids, 128, 3}};
  Exception exception;
  exception.type = "KeyError";
  exception.message = "'a'";
  exception.file = "program.py";
  exception.line = 4;
  exception.source = "x";
  exception.frames = {{"program.py", 4, "f", "x"}};
  exception.hidden_frames = 2;
  exception.hints = {"h"};
  outcome.ending.exception = exception;
  outcome.ending.reason = ReasonGiven{Reason::kArtifactNotStored, "m", 5};
  outcome.stdout_text.text = "\u4f60";
  outcome.stdout_text.bytes = 3;
  outcome.stdout_text.artifact = "art_0";
  outcome.output.pieces = {{Stream::kStdout, "\u4f60"}, {Stream::kStderr, "e"}};
  outcome.result.emplace().push_back({"text/plain", "1"});
  outcome.artifacts = {{.id = "art_1",
                        .uri = "casemate://art_1",
                        .name = "a.png",
                        .media_type = "image/png",
                        .bytes = 84000,
                        .sha256 = "d",
                        .summary = "s",
                        .description = "1280x720 pixels",
                        .state = ArtifactState::kStored,
                        .volume_id = "vol_1",
                        .expires_at = "2030-01-01T00:00:00Z"}};
  outcome.calls = {{"c1", "ledger.read", "allow", "r1", "ok", 7}};
  outcome.labels = {"private"};
  outcome.withheld = {{"stdout", "deny", "r", "why", 9}};
  outcome.timing.start = Start::kHot;
  outcome.teardown = TeardownVerdict::kDestroyed;
  outcome.report = "r";
  return outcome;
}

TEST(Outcome, AFullOneHasTheDocumentedForm) {
  EXPECT_EQ(
      write_json(full_outcome()),
      R"({"run_id":"run_1","sandbox_id":"sbx_1","tenant":"acme","task_id":"task_1","session_id":"ses_1",)"
      R"("volume":{"id":"vol_1","state":"inherited","version":"sha256:v"},"image_digest":"sha256:i",)"
      R"("isolation":"jail","below_floor":true,"weakenings":["no-cgroup"],)"
      R"("program_sha256":"p","policy_digest":"q",)"
      R"("limits":{"requested":{"wall_ms":30000},"effective":{"wall_ms":20000,"cpus":0.5}},)"
      R"("status":"limit","exit_code":0,"signal":"SIGSEGV",)"
      R"("limit":{"name":"memory","ceiling":10,"used":9,"advice":"advice"},)"
      R"("limits_met":[{"name":"pids","ceiling":128,"times":3}],)"
      R"("exception":{"type":"KeyError","message":"'a'","file":"program.py","line":4,"source":"x",)"
      R"("frames":[{"file":"program.py","line":4,"function":"f","source":"x"}],"hidden_frames":2,"hints":["h"]},)"
      R"("reason":{"code":"artifact_not_stored","message":"m","retry_after_ms":5},)"
      "\"stdout\":{\"text\":\"\u4f60\",\"bytes\":3,\"truncated\":false,\"lossy\":false,\"artifact\":\"art_"
      "0\"},"
      R"("stderr":{"text":"","bytes":0,"truncated":false,"lossy":false},)"
      "\"output\":[{\"stream\":\"stdout\",\"text\":\"\u4f60\"},{\"stream\":\"stderr\",\"text\":\"e\"}],"
      R"("result":{"text/plain":"1"},)"
      R"("artifacts":[{"id":"art_1","uri":"casemate://art_1","name":"a.png","media_type":"image/png",)"
      R"("bytes":84000,"sha256":"d","summary":"s","description":"1280x720 pixels","state":"stored","volume_id":"vol_1",)"
      R"("expires_at":"2030-01-01T00:00:00Z"}],)"
      R"("calls":[{"id":"c1","capability":"ledger.read","verdict":"allow","rule":"r1","status":"ok","latency_ms":7}],)"
      R"("labels":["private"],"withheld":[{"sink":"stdout","verdict":"deny","rule":"r","reason":"why","bytes":9}],)"
      R"("usage":{"wall_ms":0,"cpu_ms":0,"memory_peak_bytes":0,"disk_peak_bytes":0,"pids_peak":0,)"
      R"("occupied_ms":0,"minor_faults":0},)"
      R"("timing":{"queue_wait_ms":0,"checkout_ms":0,"execution_ms":0,"artifact_ms":0,"teardown_ms":0,)"
      R"("start":"hot"},"teardown":{"verdict":"destroyed"},"report":"r"})");
}

TEST(Outcome, AColdRunSaysWhyItHadNoSlot) {
  Outcome outcome = full_outcome();
  outcome.timing.start = Start::kCold;
  outcome.timing.cold_reason = "no zygote yet";
  EXPECT_NE(write_json(outcome).find(R"("start":"cold","cold_reason":"no zygote yet"})"), std::string::npos);
}

TEST(Outcome, ListsAreBoundedAndSayWhatIsMissing) {
  Outcome outcome;
  outcome.artifacts.resize(kArtifactsMax + 2);
  outcome.artifacts_left_out = 5;
  outcome.calls.resize(kCallsShownMax + 1);
  outcome.labels.resize(kLabelsMax + 3);
  outcome.output.pieces.resize(kOutputSegmentsMax + 4);
  outcome.output.left_out = 6;
  Exception exception;
  exception.frames.resize(kReportFramesMax + 1);
  exception.hints.resize(100);
  outcome.ending.exception = exception;
  const std::string json = write_json(outcome);
  EXPECT_NE(json.find("\"artifacts_left_out\":7,"), std::string::npos);
  EXPECT_NE(json.find("\"calls_left_out\":1,"), std::string::npos);
  EXPECT_NE(json.find("\"labels_left_out\":3,"), std::string::npos);
  EXPECT_NE(json.find("\"output_left_out\":10,"), std::string::npos);
  EXPECT_NE(json.find("\"frames_left_out\":1,"), std::string::npos);
  EXPECT_NE(json.find("\"hints_left_out\":75"), std::string::npos);
  std::size_t calls = 0;
  for (std::size_t at = 0; (at = json.find("\"capability\"", at)) != std::string::npos; ++at) ++calls;
  EXPECT_EQ(calls, kCallsShownMax);
  EXPECT_EQ(write_json(Outcome()).find("left_out"), std::string::npos);
}

TEST(Outcome, ExitCodesAreThoseOfTheCommandLine) {
  const std::vector<std::pair<Status, int>> expected = {{Status::kOk, 0},      {Status::kError, 1},
                                                        {Status::kRefused, 3}, {Status::kUnavailable, 4},
                                                        {Status::kLimit, 5},   {Status::kCancelled, 6}};
  for (const auto& [status, code] : expected) {
    Outcome outcome;
    outcome.ending.status = status;
    outcome.ending.exit_code = 77;  // the program's own exit code is not ours
    EXPECT_EQ(exit_code(outcome), code) << status_name(status);
  }
}

TEST(Outcome, ReasonsAreTheClosedList) {
  const std::vector<std::pair<const char*, Status>> expected = {
      {"queue_full", Status::kRefused},
      {"tenant_cap", Status::kRefused},
      {"deadline_unreachable", Status::kRefused},
      {"expired_in_queue", Status::kRefused},
      {"pool_exhausted", Status::kUnavailable},
      {"isolation_unavailable", Status::kRefused},
      {"image_unavailable", Status::kUnavailable},
      {"sandbox_unavailable", Status::kUnavailable},
      {"artifact_not_stored", Status::kUnavailable},
      {"audit_unavailable", Status::kUnavailable},
      {"policy_denied", Status::kRefused},
  };
  ASSERT_EQ(expected.size(), kReasonCount);
  for (std::size_t i = 0; i < kReasonCount; ++i) {
    EXPECT_STREQ(reason_name(static_cast<Reason>(i)), expected[i].first);
    EXPECT_EQ(status_of(static_cast<Reason>(i)), expected[i].second) << expected[i].first;
    EXPECT_NE(std::string(remedy_of(static_cast<Reason>(i))), "");
  }
}

TEST(Outcome, SignalsHaveNames) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(40), "SIG40");
  EXPECT_EQ(signal_name(-1), "SIG-1");
}

}  // namespace
}  // namespace casemate::outcome
