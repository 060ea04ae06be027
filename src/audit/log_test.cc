#include "audit/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "audit/layout.h"
#include "audit/test_support.h"
#include "base/limits.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;
using sys::read_text;

Result<Judged> record(Log& log, const Verdict& verdict, Durability durability = Durability::kDurable) {
  return log.record(verdict, durability, soon());
}

TEST(AuditLog, AVerdictThatAllowsGivesTheProof) {
  const AuditDir dir;
  const auto log = *dir.open();
  auto judged = record(*log, some_verdict());
  ASSERT_TRUE(judged) << judged.error().message;
  Recorded proof = std::get<Recorded>(std::move(*judged));
  EXPECT_EQ(proof.run(), "run_1");
  EXPECT_EQ(proof.call(), "call_1");
  EXPECT_EQ(proof.capability(), "ledger.read");
  EXPECT_EQ(proof.sequence(), 3U);  // after the header and `opened`
  EXPECT_EQ(proof.digest(), log->head().digest);
  const Recorded taken = std::move(proof);
  EXPECT_TRUE(taken.valid());
  EXPECT_FALSE(proof.valid());  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_EQ(dir.first_fault(), "");
}

TEST(AuditLog, AVerdictThatDeniesIsRecordedAndGivesNone) {
  const AuditDir dir;
  const auto log = *dir.open();
  const auto judged = record(*log, some_verdict(Answer::kDeny));
  ASSERT_TRUE(judged);
  EXPECT_EQ(std::get<Refused>(*judged).position, log->head());
  EXPECT_NE(dir.lines().back().find(R"("verdict":"deny")"), std::string::npos);
}

TEST(AuditLog, AQuestionIsAnsweredOnce) {
  const AuditDir dir;
  const auto log = *dir.open();
  for (const Answer answer : {Answer::kAllow, Answer::kDeny}) {
    auto judged = record(*log, some_verdict(Answer::kAsk));
    ASSERT_TRUE(judged);
    Asked asked = std::get<Asked>(std::move(*judged));
    const std::uint64_t question = asked.sequence();
    const Approval approval{answer, "alice", "it is known"};
    const auto answered = log->record(approval, std::move(asked), Durability::kDurable, soon());
    ASSERT_TRUE(answered) << answered.error().message;
    EXPECT_EQ(std::holds_alternative<Recorded>(*answered), answer == Answer::kAllow);
    EXPECT_NE(dir.lines().back().find(
                  R"("kind":"approval","run":"run_1","call":"call_1","capability":"ledger.read","asked":)" +
                  std::to_string(question) + R"(,"verdict":")" + answer_name(answer) +
                  R"(","by":"alice","reason":"it is known")"),
              std::string::npos)
        << dir.lines().back();
    const auto again = log->record(approval, std::move(asked), Durability::kDurable, soon());  // NOLINT
    EXPECT_EQ(again.error().code, ErrorCode::kInvalid);
  }
  auto judged = record(*log, some_verdict(Answer::kAsk));
  const Approval no_answer{Answer::kAsk, "alice", ""};
  EXPECT_EQ(
      log->record(no_answer, std::get<Asked>(std::move(*judged)), Durability::kDurable, soon()).error().code,
      ErrorCode::kInvalid);
}

TEST(AuditLog, WhatIsNoRecordIsInvalidAndNotWritten) {
  const AuditDir dir;
  const auto log = *dir.open();
  Verdict verdict = some_verdict();
  verdict.run = "";
  EXPECT_EQ(record(*log, verdict).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(log->head().sequence, 2U);
}

TEST(AuditLog, DurableIsSyncedAndBufferedIsNot) {
  const AuditDir dir;
  TestDisk disk;
  LogOptions options = dir.options();
  options.disk = &disk;
  const auto log = *Log::open(options);
  const int before = disk.syncs;
  ASSERT_TRUE(record(*log, some_verdict(), Durability::kBuffered));
  EXPECT_EQ(disk.syncs, before);
  EXPECT_EQ(dir.lines().size(), 3U);  // it is in the kernel all the same
  ASSERT_TRUE(record(*log, some_verdict()));
  EXPECT_EQ(disk.syncs, before + 1);
}

TEST(AuditLog, GoesOnWhereItWasClosed) {
  const AuditDir dir;
  std::string instance;
  {
    const auto log = *dir.open();
    EXPECT_EQ(log->found(), Found::kNew);
    instance = log->instance();
    ASSERT_TRUE(record(*log, some_verdict()));
    ASSERT_TRUE(log->close());
    EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
  }
  const auto log = *dir.open();
  EXPECT_EQ(log->found(), Found::kClosed);
  EXPECT_EQ(log->instance(), instance);
  EXPECT_EQ(log->head().sequence, 5U);
  EXPECT_NE(dir.lines().back().find(R"("kind":"log","step":"opened","after":"closed")"), std::string::npos);
  EXPECT_EQ(dir.first_fault(), "");
}

TEST(AuditLog, HasOneWriter) {
  const AuditDir dir;
  const auto log = *dir.open();
  const auto second = dir.open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos) << second.error().message;
  EXPECT_TRUE(dir.open("other"));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(dir.open() ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AuditLog, NamesAndSegmentsAreChecked) {
  const AuditDir dir;
  for (const char* name : {"", "..", "a/b", "Main", "-a", "a b"}) {
    LogOptions options = dir.options();
    options.writer = name;
    EXPECT_EQ(Log::open(options).error().code, ErrorCode::kInvalid) << name;
  }
  LogOptions options = dir.options();
  options.segment_max = Bytes{kAuditSegmentMax.count + 1};
  EXPECT_EQ(Log::open(options).error().code, ErrorCode::kInvalid);
}

TEST(AuditLog, ItsFilesAreItsOwn) {
  const AuditDir dir;
  const auto log = *dir.open();
  for (const char* name : {"", "manifest", "writers", "writers/main"}) {
    EXPECT_EQ(fs::status(dir.in(name)).permissions(), fs::perms::owner_all) << name;
  }
  for (const char* name :
       {"writers/main/key", "writers/main/lock", "writers/main/00000001.jsonl", "manifest/00000001.jsonl"}) {
    EXPECT_EQ(fs::status(dir.in(name)).permissions(), fs::perms::owner_read | fs::perms::owner_write) << name;
  }
}

TEST(AuditLog, ADirectoryThatOthersMayWriteIsNotUsed) {
  const AuditDir dir;
  fs::create_directories(dir.path());
  fs::permissions(dir.path(), fs::perms::all);
  EXPECT_EQ(dir.open().error().code, ErrorCode::kUnavailable);
}

TEST(AuditLog, HashesOfDestinationsAreComparableAcrossStarts) {
  const AuditDir dir;
  std::vector<std::string> hashes;
  for (int i = 0; i < 2; ++i) {
    const auto log = *dir.open();
    ASSERT_TRUE(record(*log, some_verdict()));
    const std::string line = dir.lines().back();
    hashes.push_back(line.substr(line.find("destination_hmac"), 90));
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  const auto other = *dir.open("other");
  ASSERT_TRUE(record(*other, some_verdict()));
  EXPECT_EQ(dir.lines(1, "other").back().find(hashes[0]), std::string::npos);
}

TEST(AuditLog, WithoutItsKeyIsNotOpened) {
  const AuditDir dir;
  dir.open().value().reset();
  fs::permissions(dir.in("writers/main/key"), fs::perms::owner_all | fs::perms::group_read);
  EXPECT_NE(dir.open().error().message.find("others can read"), std::string::npos);
  fs::remove(dir.in("writers/main/key"));
  EXPECT_NE(dir.open().error().message.find("key is gone"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir.in("writers/main/key")));
}

TEST(AuditLog, BeginsASegmentWhenOneIsFull) {
  const AuditDir dir;
  LogOptions options = dir.options();
  options.segment_max = kib(4);
  {
    const auto log = *Log::open(options);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(record(*log, some_verdict()));
  }
  int segments = 0;
  for (std::uint32_t number = 1; fs::exists(dir.segment(number)); ++number, ++segments)
    EXPECT_LE(fs::file_size(dir.segment(number)), 4096U);
  EXPECT_GE(segments, 4);
  EXPECT_EQ(dir.first_fault(), "");
  options.segment_max = Bytes{1};  // a record each
  const auto log = *Log::open(options);
  ASSERT_TRUE(record(*log, some_verdict()));
  EXPECT_EQ(dir.first_fault(), "");
}

TEST(AuditLog, AfterAFailedSyncNothingIsTakenUntilItIsOpenedAgain) {
  const AuditDir dir;
  TestDisk disk;
  LogOptions options = dir.options();
  options.disk = &disk;
  {
    const auto log = *Log::open(options);
    disk.fail_syncs = EIO;
    const auto failed = record(*log, some_verdict());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    disk.fail_syncs = 0;  // a later one would succeed: it must not be asked
    const int syncs = disk.syncs;
    const int appends = disk.appends;
    for (const Durability durability : {Durability::kDurable, Durability::kBuffered})
      EXPECT_EQ(record(*log, some_verdict(), durability).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(log->close().error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(disk.syncs, syncs);
    EXPECT_EQ(disk.appends, appends);
  }
  const auto log = *Log::open(options);
  EXPECT_EQ(log->found(), Found::kCrash);
  EXPECT_TRUE(record(*log, some_verdict()));
  EXPECT_EQ(dir.first_fault(), "");
}

TEST(AuditLog, AFullDiskCanBeTriedAgain) {
  const AuditDir dir;
  TestDisk disk;
  LogOptions options = dir.options();
  options.disk = &disk;
  const auto log = *Log::open(options);
  disk.fail_with = ENOSPC;
  disk.fail_step = disk.steps + 1;
  EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(record(*log, some_verdict()));
  disk.fail_with = EIO;
  disk.fail_step = disk.steps + 1;
  EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(dir.first_fault(), "");
}

TEST(AuditLog, WhoseFilesAreGoneTakesNothing) {
  const AuditDir dir;
  auto log = *dir.open();
  fs::remove_all(dir.in("writers/main"));
  EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(record(*log, some_verdict(), Durability::kBuffered).error().code, ErrorCode::kUnavailable);
}

TEST(AuditLog, WhoseFilesGoWhileItSyncsAcknowledgesNothing) {
  const AuditDir dir;
  TestDisk disk;
  LogOptions options = dir.options();
  options.disk = &disk;
  const auto log = *Log::open(options);
  disk.before_sync = [&] { fs::remove_all(dir.in("writers/main")); };
  EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
}

TEST(AuditLog, WhoseFileSomebodyChangedTakesNothing) {
  const AuditDir dir;
  const auto log = *dir.open();
  std::ofstream(dir.segment(), std::ios::app) << "x";
  EXPECT_EQ(record(*log, some_verdict()).error().code, ErrorCode::kUnavailable);
}

// Each step of opening, writing, rotating and closing fails once: an honest answer, and what was acknowledged
// is there after the next start.
TEST(AuditLog, AnyStepMayFailAndNothingAcknowledgedIsLost) {
  for (const int error : {EIO, ENOSPC, EROFS}) {
    for (int n = 1;; ++n) {
      const AuditDir dir;
      TestDisk disk;
      disk.fail_step = n;
      disk.fail_with = error;
      LogOptions options = dir.options();
      options.disk = &disk;
      options.segment_max = kib(2);
      std::vector<std::string> acknowledged;
      if (const auto log = Log::open(options)) {
        for (int i = 0; i < 6; ++i) {
          const auto judged = record(**log, some_verdict());
          if (judged) acknowledged.push_back(std::get<Recorded>(*judged).digest());
          EXPECT_TRUE(judged || judged.error().code == ErrorCode::kUnavailable) << n;
        }
      } else {
        EXPECT_EQ(log.error().code, ErrorCode::kUnavailable) << n;
      }
      const bool over = disk.steps < n;
      ASSERT_TRUE(dir.open()) << n;
      EXPECT_EQ(dir.first_fault({.heads = acknowledged}), "") << n;
      if (::testing::Test::HasFailure()) return;
      if (over) {
        EXPECT_EQ(acknowledged.size(), 6U);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace casemate::audit
