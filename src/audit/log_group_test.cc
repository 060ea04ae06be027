// Many callers at once: one log, few syncs, and nobody who waits for what is not his.
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <set>
#include <thread>

#include "audit/log.h"
#include "audit/test_support.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;

Result<Judged> record(Log& log, const Verdict& verdict, Durability durability = Durability::kDurable) {
  return log.record(verdict, durability, soon());
}

TEST(AuditLogGroup, SixtyFourThreadsShareTheirSyncs) {
  constexpr int kThreads = 64;
  constexpr int kEach = 50;
  const AuditDir dir;
  LogOptions options = dir.options();
  options.segment_max = kib(256);
  const auto log = *Log::open(options);
  std::vector<std::vector<std::string>> digests(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto durability = i % 5 == 4 ? Durability::kBuffered : Durability::kDurable;
        auto judged = record(
            *log, some_verdict(Answer::kAllow, "run_" + std::to_string(t), std::to_string(i)), durability);
        if (judged) digests[static_cast<std::size_t>(t)].push_back(std::get<Recorded>(*judged).digest());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Log::Counts counts = log->counts();
  ASSERT_TRUE(log->close());
  EXPECT_EQ(counts.records, kThreads * kEach);
  EXPECT_LT(counts.syncs, counts.records / 4) << "writes: " << counts.writes;
  std::printf("%d records, %d writes, %d syncs\n", static_cast<int>(counts.records),
              static_cast<int>(counts.writes), static_cast<int>(counts.syncs));

  std::set<std::string> all;
  for (const auto& of_thread : digests) {
    EXPECT_EQ(of_thread.size(), kEach);
    all.insert(of_thread.begin(), of_thread.end());
  }
  EXPECT_EQ(all.size(), kThreads * kEach);
  EXPECT_EQ(dir.first_fault(), "");
  std::multiset<std::string> calls;
  for (std::uint32_t number = 1; fs::exists(dir.segment(number)); ++number) {
    for (const std::string& line : dir.lines(number)) {
      const auto parsed = parse_line(line);
      ASSERT_TRUE(parsed);
      if (parsed->kind != Verdict::kKind) continue;
      EXPECT_TRUE(all.contains(std::string(parsed->digest)));
      calls.insert(std::string(parsed->body.substr(0, parsed->body.find(",\"capability"))));
    }
  }
  EXPECT_EQ(calls.size(), kThreads * kEach);
  EXPECT_EQ(std::set(calls.begin(), calls.end()).size(), kThreads * kEach);
}

// A disk whose syncs wait until the test lets them go.
class SlowDisk : public Disk {
 public:
  Result<void> sync(const sys::Fd& file) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
    lock.unlock();
    TRY(Disk::sync(file));
    return fails ? Result<void>(fail_errno("fdatasync", EIO)) : Result<void>();
  }
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  std::atomic<bool> fails{false};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

class SlowLog : public ::testing::Test {
 protected:
  SlowLog() {
    LogOptions options = dir_.options();
    options.disk = &disk_;
    log_ = std::move(*Log::open(options));
    disk_.set_open(false);
    first_ = std::thread([this] { first_ok_ = record(*log_, some_verdict()).has_value(); });
    while (log_->counts().writes == 0) std::this_thread::yield();  // the first is written, and syncs or will
  }
  void let_go() {
    disk_.set_open(true);
    if (first_.joinable()) first_.join();
  }
  ~SlowLog() override { let_go(); }

  AuditDir dir_;
  SlowDisk disk_;
  std::unique_ptr<Log> log_;
  bool first_ok_ = false;
  std::thread first_;
};

TEST_F(SlowLog, BufferedRecordsDoNotWaitForASync) {
  EXPECT_TRUE(record(*log_, some_verdict(), Durability::kBuffered));
  EXPECT_TRUE(log_->append(some_result(), Durability::kBuffered, soon()));
  let_go();
  EXPECT_TRUE(first_ok_);
}

TEST_F(SlowLog, ADeadlineEndsTheWaitForASyncAndNotTheRecord) {
  const auto late = log_->record(some_verdict(), Durability::kDurable, Deadline::in(milliseconds{30}));
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  let_go();
  EXPECT_TRUE(first_ok_);
  EXPECT_TRUE(record(*log_, some_verdict()));
  EXPECT_EQ(log_->counts().records, 3U);
  EXPECT_EQ(dir_.first_fault(), "");
}

TEST_F(SlowLog, AFailedSyncFailsAllThatWaitForOne) {
  std::vector<std::thread> others;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&] {
      if (!record(*log_, some_verdict())) ++failed;
    });
  }
  while (log_->counts().records < 9) std::this_thread::yield();
  disk_.fails = true;
  let_go();
  for (std::thread& other : others) other.join();
  EXPECT_FALSE(first_ok_);
  EXPECT_EQ(failed, 8);
}

}  // namespace
}  // namespace casemate::audit
