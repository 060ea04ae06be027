#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace casemate {
namespace {

struct Parsed {
  std::string_view text;
  std::uint64_t count;
};

TEST(ParseBytes, TakesEveryUnit) {
  for (const Parsed& row : {Parsed{"0", 0},
                            {"4096", 4096},
                            {"7B", 7},
                            {"64KiB", 65536},
                            {"64K", 65536},
                            {"1kB", 1000},
                            {"1KB", 1000},
                            {"512MiB", 536870912},
                            {"512M", 536870912},
                            {"200MB", 200000000},
                            {"1.5GiB", 1610612736},
                            {"2G", 2147483648},
                            {"3GB", 3000000000},
                            {"1TiB", 1099511627776},
                            {"0.5KiB", 512}}) {
    const Result<Bytes> bytes = parse_bytes(row.text);
    ASSERT_TRUE(bytes) << row.text;
    EXPECT_EQ(bytes->count, row.count) << row.text;
  }
}

TEST(ParseBytes, TakesSpacesBetweenNumberAndUnit) {
  const Result<Bytes> bytes = parse_bytes("64  KiB");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, kib(64));
}

TEST(ParseBytes, RoundsAFractionOfAByteDown) {
  const Result<Bytes> bytes = parse_bytes("1.9B");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->count, 1U);
}

TEST(ParseBytes, TakesTwoToTheSixtyTwoAndNoMore) {
  ASSERT_TRUE(parse_bytes("4194304TiB"));
  EXPECT_EQ(parse_bytes("4194304TiB")->count, std::uint64_t{1} << 62);
  EXPECT_FALSE(parse_bytes("4194305TiB"));
  EXPECT_FALSE(parse_bytes("1e30"));
  EXPECT_FALSE(parse_bytes(std::string(400, '9')));
}

TEST(ParseBytes, RefusesWhatIsNoAmount) {
  for (const std::string_view text : {"", " ", "MiB", "-1", "-0.5KiB", "+1", " 1", "1 MiB ", "1mib", "1 Mi B",
                                      "1XB", "0x10", "1e3", "inf", "nan", "1,5GiB", "1..5", "--1"}) {
    const Result<Bytes> bytes = parse_bytes(text);
    ASSERT_FALSE(bytes) << "'" << text << "'";
    EXPECT_EQ(bytes.error().code, ErrorCode::kInvalid) << text;
    EXPECT_NE(bytes.error().message.find("'" + std::string(text) + "'"), std::string::npos) << text;
  }
}

TEST(ParseBytes, RefusesABytePastTheNumberThatEndsAString) {
  EXPECT_FALSE(parse_bytes(std::string_view("1\0", 2)));
  EXPECT_FALSE(parse_bytes("1\n"));
}

TEST(ParseBytes, ReadsNoByteBehindTheView) {
  const std::string_view text = std::string_view("1234").substr(0, 2);
  ASSERT_TRUE(parse_bytes(text));
  EXPECT_EQ(parse_bytes(text)->count, 12U);
}

TEST(FormatBytes, NamesTheLargestUnitThatFits) {
  EXPECT_EQ(format_bytes(Bytes{0}), "0 B");
  EXPECT_EQ(format_bytes(Bytes{700}), "700 B");
  EXPECT_EQ(format_bytes(Bytes{1023}), "1023 B");
  EXPECT_EQ(format_bytes(kib(1)), "1 KiB");
  EXPECT_EQ(format_bytes(kib(1536)), "1.5 MiB");
  EXPECT_EQ(format_bytes(mib(512)), "512 MiB");
  EXPECT_EQ(format_bytes(mib(1536)), "1.5 GiB");
  EXPECT_EQ(format_bytes(gib(2048)), "2 TiB");
  EXPECT_EQ(format_bytes(gib(1 << 20)), "1024 TiB");
}

TEST(FormatBytes, SurvivesTheLargestCount) { EXPECT_EQ(format_bytes(Bytes{UINT64_MAX}), "16777216 TiB"); }

TEST(FormatBytes, IsReadBackByParseBytes) {
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{1023}, kib(1), kib(1536), mib(512), gib(3)}) {
    const Result<Bytes> again = parse_bytes(format_bytes(bytes));
    ASSERT_TRUE(again) << bytes.count;
    EXPECT_EQ(*again, bytes);
  }
}

TEST(Bytes, AreOrderedByCount) {
  EXPECT_LT(kib(1), mib(1));
  EXPECT_EQ(kib(1024), mib(1));
}

}  // namespace
}  // namespace casemate
