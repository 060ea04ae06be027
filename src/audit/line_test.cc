#include "audit/line.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "crypto/sha256.h"

namespace casemate::audit {
namespace {

using std::chrono::seconds;

const Time kSome = Time(seconds(1'785'412'800)) + microseconds(123'456);

std::string without_feed(std::string line) {
  line.pop_back();
  return line;
}

std::string some_line(std::string_view body = R"("run":"r1")") {
  std::string line;
  append_line(line, Position{6, std::string(64, 'c')}, kSome, "verdict", body);
  return without_feed(line);
}

TEST(AuditTime, IsWrittenAsPeopleReadIt) {
  EXPECT_EQ(format_time(kSome), "2026-07-30T12:00:00.123456Z");
  EXPECT_EQ(format_time(Time{}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_time(Time(microseconds(-5))), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_time(Time::max()), "9999-12-31T23:59:59.999999Z");
}

TEST(AuditTime, ReadsBackWhatWasWritten) {
  for (const std::int64_t us : {0L, 1L, 951'782'399'999'999L, 1'709'164'800'000'000L, 4'102'444'799'000'001L})
    EXPECT_EQ(parse_time(format_time(Time(microseconds(us)))).value(), Time(microseconds(us)));
  for (const char* text :
       {"", "2026-07-30T12:00:00Z", "2026-02-29T12:00:00.123456Z", "2026-07-30T24:00:00.123456Z",
        "2026-07-30T12:60:00.123456Z", "2026-07-30 12:00:00.123456Z", "2026-13-30T12:00:00.123456Z",
        "2026-07-30T12:00:00.12345xZ", "1969-07-30T12:00:00.123456Z", "2026-07-30T12:00:00.1234567"})
    EXPECT_FALSE(parse_time(text)) << text;
}

TEST(AuditLine, HasTheFormThatTheDocumentNames) {
  const std::string text = some_line();
  const std::string before = R"({"seq":7,"prev":")" + std::string(64, 'c') +
                             R"(","at":"2026-07-30T12:00:00.123456Z","kind":"verdict","run":"r1")";
  EXPECT_EQ(text, before + R"(,"digest":")" + crypto::sha256_hex(before) + "\"}");
}

TEST(AuditLine, ReadsBackWhatWasWritten) {
  std::string out = "before";
  const Position made = append_line(out, Position{}, kSome, "log", "");
  EXPECT_LE(out.size() - 6, line_size_max("log", ""));
  const std::string text = without_feed(out.substr(6));
  const auto line = parse_line(text);
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->sequence, 1U);
  EXPECT_EQ(line->previous, std::string(64, '0'));
  EXPECT_EQ(line->at, kSome);
  EXPECT_EQ(line->kind, "log");
  EXPECT_EQ(line->body, "");
  EXPECT_EQ(line->digest, made.digest);
  EXPECT_EQ(made.sequence, 1U);
  EXPECT_TRUE(digest_holds(text, *line));
  EXPECT_EQ(text_member(read_members(text).value(), "kind"), "log");
}

TEST(AuditLine, OfAnotherFormIsRefused) {
  const std::string good = some_line();
  ASSERT_TRUE(parse_line(good));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string wrong[] = {"",
                               "{}",
                               good.substr(1),
                               good.substr(0, good.size() - 1),
                               good + " ",
                               with("{\"seq\":7", "{\"seq\":07"),
                               with("{\"seq\":7", "{\"seq\":-7"),
                               with("{\"seq\":7", "{\"seq\":99999999999999999999"),
                               with("{\"seq\":7", "{\"seq\": 7"),
                               with("cc", "CC"),
                               with("12:00", "12-00"),
                               with("verdict", "Verdict"),
                               with("verdict", ""),
                               with("\"kind\"", "\"king\""),
                               with(",\"run\"", ";\"run\""),
                               with(",\"digest\":\"", ",\"digest\":\"0")};
  for (const std::string& text : wrong) EXPECT_FALSE(parse_line(text)) << text;
  EXPECT_FALSE(parse_line(some_line(std::string(kAuditRecordMax, ' '))));
}

TEST(AuditLine, EveryByteIsInTheDigest) {
  const std::string good = some_line();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string text = good;
    text[i] = static_cast<char>(text[i] ^ 1);
    const auto line = parse_line(text);
    EXPECT_FALSE(line && digest_holds(text, *line)) << i;
  }
}

TEST(AuditLine, MembersHaveDifferentNames) {
  EXPECT_TRUE(read_members(some_line()));
  EXPECT_FALSE(read_members(some_line(R"("run":"r1","run":"r2")")));
  EXPECT_FALSE(read_members(some_line(R"("seq":8)")));
  EXPECT_FALSE(read_members(some_line(R"("run":r1)")));
  EXPECT_FALSE(read_members("[]"));
}

}  // namespace
}  // namespace casemate::audit
