// What open() makes of the ends that it finds.
#include "audit/chain.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "audit/layout.h"
#include "audit/test_support.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;

class ChainEnds : public ::testing::Test {
 protected:
  ChainEnds() {
    const auto log = *dir_.open();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(log->record(some_verdict(), Durability::kDurable, soon()));
    EXPECT_TRUE(log->close());
    whole_ = sys::read_text(dir_.segment());
  }
  void write(const std::string& text) { sys::write_text(dir_.segment(), text); }
  // It is refused, and left as it is.
  void expect_refused(const std::string& text, const std::string& why) {
    write(text);
    const auto log = dir_.open();
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, ErrorCode::kInvalid);
    EXPECT_NE(log.error().message.find(why), std::string::npos) << log.error().message;
    EXPECT_EQ(sys::read_text(dir_.segment()), text);
  }

  AuditDir dir_;
  std::string whole_;
};

TEST_F(ChainEnds, APartOfARecordIsCutAndThatIsRecorded) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{100}, std::size_t{200}}) {
    write(whole_ + whole_.substr(0, part));
    EXPECT_EQ(dir_.first_fault(), "torn main 7");
    {
      const auto log = *dir_.open();
      EXPECT_EQ(log->found(), Found::kCrash);
    }
    const std::vector<std::string> lines = dir_.lines();
    ASSERT_EQ(lines.size(), 9U);
    EXPECT_NE(lines[6].find(R"("kind":"log","step":"torn_tail_cut","segment":1,"bytes":)" +
                            std::to_string(part) + ","),
              std::string::npos)
        << lines[6];
    EXPECT_NE(lines[7].find(R"("step":"opened","after":"crash")"), std::string::npos) << lines[7];
    EXPECT_EQ(dir_.first_fault(), "");
    EXPECT_EQ(verify(dir_.path(), {})->chains[1].torn_tails, 1U);
  }
}

TEST_F(ChainEnds, BytesThatAreNoTextAreAPartToo) {
  write(whole_ + std::string(4096, '\0'));
  EXPECT_TRUE(dir_.open());
  EXPECT_EQ(dir_.first_fault(), "");
}

TEST_F(ChainEnds, ARecordThatIsNotWholeIsNotRepaired) {
  std::string text = whole_;
  text[text.size() - 20] = text[text.size() - 20] == '0' ? '1' : '0';
  expect_refused(text, "its last record is not whole");
  expect_refused(text + "{\"seq\"", "its last record is not whole");
  expect_refused(whole_ + "\n", "its last record is not whole");
  expect_refused("", "it does not end in a record");
  expect_refused(std::string(300, 'x'), "it does not end in a record");
}

TEST_F(ChainEnds, ALineEndThatWasChangedIsNotACrash) {
  std::string text = whole_;
  text.back() = '\x0b';
  expect_refused(text, "its last record has no line end");
}

TEST_F(ChainEnds, MoreThanARecordBehindTheLastIsNotACrash) {
  expect_refused(whole_ + std::string(kAuditRecordMax, 'x'), "stands behind its last");
  expect_refused(whole_ + std::string(3 * kAuditRecordMax, 'x'), "it does not end in a record");
}

TEST_F(ChainEnds, AnotherLogsSegmentIsNotGoneOnWith) {
  (void)*dir_.open("other");
  expect_refused(sys::read_text(dir_.segment(1, "other")), "it is of another log");
}

TEST_F(ChainEnds, AHeaderThatACrashKeptFromItsNameIsRemoved) {
  sys::write_text(dir_.in("writers/main/segment.new"), "{");
  EXPECT_TRUE(dir_.open());
  EXPECT_FALSE(fs::exists(dir_.in("writers/main/segment.new")));
}

TEST_F(ChainEnds, APartOfTheManifestsLastRecordIsCutByTheNextWriter) {
  std::ofstream(dir_.in("manifest/00000001.jsonl"), std::ios::app) << "{\"seq\":3";
  EXPECT_EQ(dir_.first_fault(), "torn manifest 3");
  EXPECT_TRUE(dir_.open());  // it is listed: nothing to be written
  EXPECT_EQ(dir_.first_fault(), "torn manifest 3");
  EXPECT_TRUE(dir_.open("other"));
  EXPECT_EQ(dir_.first_fault(), "");
}

TEST(AuditLayout, WritersHaveNamesAndABound) {
  const AuditDir dir;
  (void)*dir.open();
  const sys::Fd audit = *open_audit_directory(dir.path());
  fs::create_directory(dir.in("writers/Not-A-Name"));
  EXPECT_EQ(*writer_names(audit), std::vector<std::string>{"main"});
  for (std::size_t i = 1; i < kAuditWritersMax; ++i)
    fs::create_directory(dir.in("writers/w" + std::to_string(i)));
  EXPECT_EQ(writer_names(audit)->size(), kAuditWritersMax);
  fs::create_directory(dir.in("writers/one-more"));
  EXPECT_EQ(writer_names(audit).error().code, ErrorCode::kExhausted);
}

TEST(AuditLayout, ALockIsSeenAndHeldOnce) {
  const AuditDir dir;
  auto log = *dir.open();
  const sys::Fd directory = *open_chain_directory(*open_audit_directory(dir.path()), writer_path("main"));
  EXPECT_TRUE(is_chain_locked(directory));
  EXPECT_FALSE(lock_chain(directory, Deadline::in(milliseconds{20})));
  log.reset();
  EXPECT_FALSE(is_chain_locked(directory));
  EXPECT_TRUE(lock_chain(directory, Deadline::in(milliseconds{20})));
}

}  // namespace
}  // namespace casemate::audit
