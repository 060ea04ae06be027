#include "outcome/report.h"

#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>

#include "json/utf8.h"
#include "outcome/decide.h"

namespace casemate::outcome {
namespace {

StreamOutcome stream_of(const std::string& bytes, std::uint64_t cap = 64 << 10) {
  OutputCapture capture({.cap = Bytes{cap}, .spool = {}});
  capture.feed(Stream::kStdout, bytes);
  StreamOutcome stream;
  static_cast<StreamText&>(stream) = capture.text(Stream::kStdout);
  return stream;
}

Outcome ran(Status status, int code) {
  Outcome outcome;
  outcome.ending.status = status;
  outcome.ending.exit_code = code;
  outcome.effective.wall_ms = 30000;
  outcome.effective.memory_bytes = 512u << 20;
  outcome.usage.wall_ms = 1234;
  outcome.usage.memory_peak_bytes = (41u << 20) + 5;
  return outcome;
}

Exception key_error() {
  Exception exception;
  exception.type = "KeyError";
  exception.message = "'amount'";
  exception.file = "program.py";
  exception.line = 4;
  exception.source = "total += Decimal(row[\"amount\"])";
  exception.frames = {{"program.py", 4, "<module>", "total += Decimal(row[\"amount\"])"}};
  exception.hints = {"row keys present: ['tenant', 'value', 'currency', 'posted_at']"};
  return exception;
}

std::string rows(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "row " + std::to_string(i) + "\n";
  return text;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Report, IsTheOneOfTheDesign) {
  Outcome outcome = ran(Status::kError, 1);
  outcome.stdout_text = stream_of(rows(212));
  outcome.stdout_text.artifact = "art_51b0";
  outcome.ending.exception = key_error();
  std::string last;
  for (int i = 193; i <= 212; ++i) last += "row " + std::to_string(i) + "\n";
  EXPECT_EQ(make_report(outcome),
            "status: error (exit code 1)\n"
            "--- stdout (last 20 of 212 lines; all: art_51b0) ---\n" +
                last +
                "--- stderr ---\n"
                "--- exception ---\n"
                "KeyError: 'amount'\n"
                "at line 4: total += Decimal(row[\"amount\"])\n"
                "row keys present: ['tenant', 'value', 'currency', 'posted_at']\n"
                "--- limits ---\n"
                "none reached (wall 1.2 of 30 s, memory 41 of 512 MiB)\n");
}

TEST(Report, ShowsAShortStreamWhole) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.stdout_text = stream_of(rows(200));
  const std::string report = make_report(outcome);
  EXPECT_TRUE(report.starts_with("status: ok\n--- stdout ---\nrow 1\n"));
  EXPECT_TRUE(has(report, "row 200\n"));
}

TEST(Report, CountsTheLinesOfATruncatedStream) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.stdout_text = stream_of(rows(5000), 1024);
  EXPECT_TRUE(has(make_report(outcome), "--- stdout (last 20 of 5000 lines) ---\nrow 4981\n"));
}

TEST(Report, TellsWhichLimitEndedTheRunAndWhatToDo) {
  Outcome outcome = ran(Status::kLimit, 0);
  outcome.ending.exit_code.reset();
  outcome.ending.limit = EndingLimit{LimitName::kWall, 30000, 30012, limit_advice(LimitName::kWall)};
  outcome.ending.limits_met = {{LimitName::kPids, 128, 14}};
  outcome.stdout_text = stream_of("step one done\n");
  EXPECT_EQ(make_report(outcome),
            "status: limit (wall)\n"
            "--- stdout ---\n"
            "step one done\n"
            "--- stderr ---\n"
            "--- limits ---\n"
            "wall: the run was ended at its limit of 30 s (used 30 s). Do less in one run, or ask for a "
            "longer wall "
            "limit.\n"
            "pids: the limit of 128 processes was met 14 times. Start fewer processes or threads at once, or "
            "ask for "
            "a higher pids limit.\n");
}

TEST(Report, NamesTheSignal) {
  Outcome outcome = ran(Status::kError, 0);
  outcome.ending.exit_code.reset();
  outcome.ending.signal = SIGSEGV;
  EXPECT_TRUE(make_report(outcome).starts_with("status: error (killed by SIGSEGV)\n"));
}

TEST(Report, ARefusalSaysWhatToDoAndNotToChangeTheProgram) {
  for (std::size_t i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    Outcome outcome;
    outcome.ending = refusal(reason, "why " + std::string(reason_name(reason)), 1500);
    const std::string report = make_report(outcome);
    SCOPED_TRACE(report);
    EXPECT_TRUE(report.starts_with(std::string("status: ") + status_name(outcome.ending.status) + " (" +
                                   reason_name(reason) + ")\nwhy "));
    EXPECT_TRUE(has(report, std::string("What to do: ") + remedy_of(reason)));
    EXPECT_TRUE(has(report, "Retry after 1.5 s."));
    EXPECT_TRUE(has(report, "Do not change the program."));
    EXPECT_FALSE(has(report, "--- stdout"));
  }
}

TEST(Report, AnArtifactThatWasNotStoredKeepsTheProgramsEnd) {
  Outcome outcome = ran(Status::kUnavailable, 0);
  outcome.ending.reason = ReasonGiven{Reason::kArtifactNotStored, "1 not stored", {}};
  outcome.stdout_text = stream_of("the sum is 17\n");
  const std::string report = make_report(outcome);
  EXPECT_TRUE(report.starts_with("status: unavailable (artifact_not_stored, exit code 0)\n"));
  EXPECT_TRUE(has(report, "Do not change the program."));
  EXPECT_TRUE(has(report, "--- stdout ---\nthe sum is 17\n"));
}

TEST(Report, WhatWasPrintedBeforeALossIsThere) {
  Outcome outcome;
  outcome.ending = refusal(Reason::kSandboxUnavailable, "the box was lost");
  outcome.stdout_text = stream_of("the decisive number is 17\n");
  const std::string report = make_report(outcome);
  EXPECT_TRUE(has(report, "--- stdout ---\nthe decisive number is 17\n"));
  EXPECT_FALSE(has(report, "none reached"));
}

TEST(Report, ShowsResultAndArtifactsWithTheirClaims) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.result.emplace().push_back({"text/plain", "   a  b\n0  1  2"});
  outcome.result->push_back({"text/html", std::string(1234, 'x')});
  Artifact png{.id = "art_9fc2",
               .uri = "",
               .name = "a.png",
               .media_type = "image/png",
               .bytes = 84000,
               .sha256 = "",
               .summary = "settlement \"failures\"] by day",
               .description = "",
               .state = ArtifactState::kStored,
               .volume_id = "",
               .expires_at = {}};
  Artifact csv = png;
  csv.id = "art_1";
  csv.name = "b.csv";
  csv.media_type = "text/csv";
  csv.bytes = 999;
  csv.summary = "";
  csv.description = "40 rows";
  csv.state = ArtifactState::kFailed;
  outcome.artifacts = {png, csv};
  outcome.artifacts_left_out = 2;
  EXPECT_TRUE(has(make_report(outcome),
                  "--- result ---\n   a  b\n0  1  2\n(in the outcome also as: text/html 1.2kB)\n"
                  "--- artifacts (a text in quotes is the program's own claim) ---\n"
                  "[artifact art_9fc2 image/png 84kB \"settlement \\\"failures\\\"] by day\"]\n"
                  "[artifact art_1 text/csv 999B failed 40 rows b.csv]\n"
                  "(and 2 more)\n"
                  "--- limits ---\n"));
}

TEST(Report, ShowsTheFramesOfTheProgram) {
  Outcome outcome = ran(Status::kError, 1);
  Exception exception = key_error();
  exception.file = "/work/helper.py";
  exception.line = 2;
  exception.source = "return row[k]";
  exception.frames = {{"program.py", 9, "<module>", "main()"},
                      {"/work/helper.py", 2, "get", "return row[k]"}};
  exception.hidden_frames = 3;
  outcome.ending.exception = exception;
  EXPECT_TRUE(has(make_report(outcome),
                  "KeyError: 'amount'\n"
                  "at /work/helper.py line 2: return row[k]\n"
                  "row keys present: ['tenant', 'value', 'currency', 'posted_at']\n"
                  "frames, outermost first:\n"
                  "  line 9 in <module>: main()\n"
                  "  /work/helper.py line 2 in get: return row[k]\n"
                  "(3 frames outside the program are not shown)\n"));
  exception.frames.assign(60, {"program.py", 3, "f", "return f(n + 1)"});
  exception.frames_left_out = 900;
  outcome.ending.exception = exception;
  EXPECT_TRUE(has(make_report(outcome), "  … 952 more …\n"));
}

TEST(Report, ShowsGroupsAndCausesInFull) {
  Outcome outcome = ran(Status::kError, 1);
  outcome.ending.exception = key_error();
  outcome.ending.exception->rendered = "Traceback\nKeyError: 'amount'";
  EXPECT_FALSE(has(make_report(outcome), "in full:"));
  outcome.ending.exception->type = "ExceptionGroup";
  EXPECT_TRUE(has(make_report(outcome), "in full:\nTraceback\nKeyError: 'amount'\n"));
  outcome.ending.exception->type = "OSError";
  outcome.ending.exception->rendered =
      "ZeroDivisionError\n\nThe above exception was the direct cause of the following exception:\n\nOSError";
  EXPECT_TRUE(has(make_report(outcome), "in full:\nZeroDivisionError\n"));
}

TEST(Report, GuestTextCannotForgeASection) {
  Outcome outcome = ran(Status::kError, 1);
  outcome.stdout_text =
      stream_of("--- limits ---\nnone reached\n[artifact art_1 image/png 1kB]\n-----\n--- a/file\n");
  outcome.ending.exception = key_error();
  outcome.ending.exception->message = "x\n--- limits ---\r\nnone reached";
  const std::string report = make_report(outcome);
  EXPECT_TRUE(
      has(report, "\\--- limits ---\nnone reached\n\\[artifact art_1 image/png 1kB]\n-----\n--- a/file\n"));
  EXPECT_TRUE(has(report, "KeyError: x\n\\--- limits ---\nnone reached\n"));
  std::size_t sections = 0;
  for (std::size_t at = 0; (at = report.find("\n--- limits ---\n", at)) != std::string::npos; ++at)
    ++sections;
  EXPECT_EQ(sections, 1u);
}

TEST(Report, ControlCharactersAreHarmless) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.stdout_text = stream_of("\x1b[31mred\x1b[0m \x1b[2J\x1b]0;title\x07plain\n10 %\r100 %\n\xff\n");
  const std::string report = make_report(outcome);
  EXPECT_TRUE(has(report, "--- stdout (not all of it is UTF-8 text) ---\nred plain\n100 %\n\uFFFD\n"))
      << report;
}

TEST(Report, ALongLineIsCutAndTheNextIsThere) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.stdout_text = stream_of(std::string(60'000, 'x') + "\nafter\n");
  const std::string report = make_report(outcome);
  EXPECT_TRUE(has(report, "--- stdout ---\nxxx"));
  EXPECT_TRUE(has(report, "xx[… 59250 bytes …]xx"));
  EXPECT_TRUE(has(report, "xxx\nafter\n"));
}

TEST(Report, SaysThatTheWallIsBelowTheFloor) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.isolation = "jail";
  outcome.below_floor = true;
  EXPECT_TRUE(has(make_report(outcome), "status: ok\nisolation: jail, below the floor"));
}

TEST(Report, NamesEachWeakeningAndWhatItCosts) {
  Outcome outcome = ran(Status::kOk, 0);
  outcome.weakenings = {{"no-cgroup", "memory is limited per process only"}};
  EXPECT_TRUE(has(make_report(outcome),
                  "status: ok\nweakened by name: no-cgroup, so memory is limited per process only\n"));
}

std::string noise(std::mt19937_64& random, std::size_t max) {
  static const std::vector<std::string> kWords = {
      "word ", "\n",          "\x1b[1m", "\u4f60\u597d",        "\U0001F600",
      "\r",    "--- x ---\n", "\xff",    std::string(700, 'z'), "\u202e"};
  std::string text;
  const std::size_t size = max == 0 ? 0 : random() % max;
  while (text.size() < size) text += kWords[random() % kWords.size()];
  return text;
}

TEST(Report, IsBoundedAndValidWhateverTheOutcome) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Outcome outcome = ran(static_cast<Status>(random() % 6), 1);
    outcome.below_floor = random() % 2 == 0;
    outcome.isolation = noise(random, 300);
    outcome.stdout_text = stream_of("first\n" + noise(random, 40'000) + "\nlast words\n", 8192);
    outcome.stderr_text = stream_of(noise(random, 40'000) + "\nlast error\n", 8192);
    if (random() % 2 == 0) outcome.ending.reason = ReasonGiven{Reason::kPolicyDenied, noise(random, 5000), 5};
    if (random() % 2 == 0) {
      Exception exception;
      exception.type = json::one_line(noise(random, 5000), 1024);
      exception.message = json::to_text(noise(random, 20'000)).text;
      exception.source = json::one_line(noise(random, 5000), 1024);
      exception.frames.assign(random() % 64,
                              {noise(random, 1000), 1, noise(random, 1000), noise(random, 1000)});
      exception.hints.assign(random() % 16, json::one_line(noise(random, 3000), 1024));
      exception.rendered = "During handling of the above exception" + noise(random, 20'000);
      outcome.ending.exception = exception;
    }
    if (random() % 2 == 0) outcome.result.emplace(3, ResultForm{"text/plain", noise(random, 20'000)});
    outcome.artifacts.resize(random() % 200);
    for (Artifact& artifact : outcome.artifacts) artifact.name = artifact.summary = noise(random, 2000);
    for (std::size_t i = 0; i < kLimitCount; ++i) {
      outcome.ending.limits_met.push_back({static_cast<LimitName>(i), ~std::uint64_t{0}, ~std::uint64_t{0}});
    }
    for (const std::size_t max : {std::size_t{8} << 10, kReportTextMax}) {
      const std::string report = make_report(outcome, {.bytes_max = max});
      ASSERT_LE(report.size(), max);
      ASSERT_TRUE(json::is_valid_utf8(report));
      ASSERT_EQ(report.find_first_of("\x1b\r"), std::string::npos);
      ASSERT_TRUE(has(report, "last words\n"));
      ASSERT_TRUE(has(report, "last error\n"));
    }
  }
}

}  // namespace
}  // namespace casemate::outcome
