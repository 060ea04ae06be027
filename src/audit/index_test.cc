#include "audit/index.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "audit/layout.h"
#include "audit/test_support.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;

// Two writers: five verdicts each for two runs.
class AuditIndex : public ::testing::Test {
 protected:
  AuditIndex() {
    for (const char* writer : {"main", "other"}) {
      LogOptions options = dir_.options(writer);
      options.segment_max = kib(2);
      options.clock = later;
      logs_.push_back(*Log::open(options));
    }
    for (int i = 0; i < 10; ++i) add(*logs_[static_cast<std::size_t>(i % 2)], i);
  }
  static Time later() {
    static int calls = 0;
    return some_time() + std::chrono::seconds(++calls);
  }
  void add(Log& log, int i) {
    Verdict verdict = some_verdict(i % 3 == 0 ? Answer::kDeny : Answer::kAllow,
                                   "run_" + std::to_string(i % 4), "call_" + std::to_string(i));
    if (i >= 8) verdict.capability = "mail.send";
    ASSERT_TRUE(log.record(verdict, Durability::kBuffered, soon()));
  }
  Result<Index> open() const { return Index::open(dir_.in(kIndexName), Index::Mode::kWrite); }
  Result<std::uint64_t> update(Index& index) const {
    return update_index(index, *open_audit_directory(dir_.path()));
  }
  // The calls that match, in the order in which they come.
  static std::string calls(Index& index, const Query& query) {
    std::string found;
    const auto done = index.find(query, [&](const std::string& writer, const IndexRow& row) -> Result<void> {
      if (row.kind == Verdict::kKind) found += writer + std::to_string(row.sequence) + " ";
      return {};
    });
    return done ? found : done.error().message;
  }

  AuditDir dir_;
  std::vector<std::unique_ptr<Log>> logs_;
};

TEST_F(AuditIndex, FindsByRunCapabilityVerdictAndTime) {
  Index index = *open();
  ASSERT_GT(*update(index), 10U);
  const std::string all = calls(index, {});
  EXPECT_EQ(std::count(all.begin(), all.end(), ' '), 10) << all;
  EXPECT_EQ(std::count(all.begin(), all.end(), 'm'), 5) << all;
  const auto count = [&](const Query& query) {
    const std::string found = calls(index, query);
    return std::count(found.begin(), found.end(), ' ');
  };
  EXPECT_EQ(count({.run = "run_0"}), 3);
  EXPECT_EQ(count({.run = "run_9"}), 0);
  EXPECT_EQ(count({.capability = "mail.send"}), 2);
  EXPECT_EQ(count({.verdict = "deny"}), 4);
  EXPECT_EQ(count({.run = "run_0", .verdict = "deny"}), 1);
  std::vector<Time> times;
  ASSERT_TRUE(
      index.find({.capability = "ledger.read"}, [&](const std::string&, const IndexRow& row) -> Result<void> {
        times.push_back(row.at);
        return {};
      }));
  ASSERT_EQ(times.size(), 8U);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_EQ(count({.capability = "ledger.read", .from = times[2], .to = times[5]}), 3);
}

TEST_F(AuditIndex, TakesInOnlyWhatIsNew) {
  Index index = *open();
  ASSERT_TRUE(update(index));
  EXPECT_EQ(*update(index), 0U);
  add(*logs_[0], 3);
  EXPECT_GE(*update(index), 1U);
  Index again = *open();
  EXPECT_EQ(*update(again), 0U);
  EXPECT_EQ(dir_.first_fault(), "");
}

TEST_F(AuditIndex, IsMadeAgainFromTheSegments) {
  std::string before;
  {
    Index index = *open();
    ASSERT_TRUE(update(index));
    before = calls(index, {});
  }
  fs::remove(dir_.in(kIndexName));
  Index index = *open();
  ASSERT_TRUE(update(index));
  EXPECT_EQ(calls(index, {}), before);
}

TEST_F(AuditIndex, MayLagBehindAndNotBeAhead) {
  {
    Index index = *open();
    ASSERT_TRUE(update(index));
  }
  add(*logs_[0], 3);
  EXPECT_EQ(dir_.first_fault(), "");
  {
    Index index = *open();
    ASSERT_TRUE(update(index));
  }
  ASSERT_TRUE(logs_[0]->close());
  std::uint32_t last = 1;
  while (fs::exists(dir_.segment(last + 1))) ++last;
  fs::remove(dir_.segment(last));
  EXPECT_EQ(dir_.first_fault().substr(0, 10), "index main");
  Index index = *open();
  EXPECT_EQ(update(index).error().code, ErrorCode::kInvalid);
}

TEST_F(AuditIndex, DoesNotTakeWhatIsDamaged) {
  std::fstream file(dir_.segment(2), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(300);
  file.put('~');
  file.close();
  Index index = *open();
  const auto added = update(index);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kInvalid);
  EXPECT_NE(added.error().message.find("00000002.jsonl"), std::string::npos) << added.error().message;
}

TEST_F(AuditIndex, ThatIsNoneIsSaidToBe) {
  EXPECT_EQ(Index::open(dir_.in("none"), Index::Mode::kRead).error().code, ErrorCode::kNotFound);
  sys::write_text(dir_.in(kIndexName), std::string(8192, 'x'));
  EXPECT_EQ(open().error().code, ErrorCode::kInvalid);
  EXPECT_EQ(dir_.first_fault(), "index  0");
}

TEST_F(AuditIndex, IsReadableByItsOwnerAlone) {
  ASSERT_TRUE(open());
  EXPECT_EQ(fs::status(dir_.in(kIndexName)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

}  // namespace
}  // namespace casemate::audit
