#include "json/decimal.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "json/reader.h"

namespace casemate::json {
namespace {

Decimal number(std::string_view text) {
  const auto parsed = Decimal::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << parsed.error().message;
  return parsed ? *parsed : Decimal();
}

std::string sum(std::string_view a, std::string_view b) {
  const auto result = Decimal::sum(number(a), number(b));
  return result ? result->text() : result.error().message;
}

TEST(Decimal, ReadsWhatJsonSpellsAndNothingElse) {
  for (const char* text :
       {"0", "-0", "1", "-1.50", "1e400", "1E+3", "0.1", "123456789012345678901234567890.5", "1e-400",
        "0e999999999999", "-0.0e-99999999999999999999", "1e0000000000000000003"}) {
    EXPECT_TRUE(Decimal::parse(text).has_value()) << text;
  }
  for (const char* text :
       {"",    "+1",  " 1",       "1 ",  "01",  ".5",    "5.",    "1e", "1e+", "NaN", "inf",
        "0x1", "1_0", "Infinity", "1,0", "--1", "1.2.3", "1e1.5", "١",  "-",   "1e5x"}) {
    const auto parsed = Decimal::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid) << text;
  }
}

TEST(Decimal, RefusesDigitsTooFarFromThePoint) {
  for (const char* text : {"1e999999999", "-1e999999999", "1e-999999999", "1e2000", "1e-2001",
                           "1e99999999999999999999999999", "9.99e1999999999"}) {
    const auto parsed = Decimal::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kExhausted) << text;
  }
  EXPECT_TRUE(Decimal::parse("1e1999").has_value());
  EXPECT_TRUE(Decimal::parse("1e-2000").has_value());
  EXPECT_TRUE(Decimal::parse("0." + std::string(5000, '0') + "1e4000").has_value());  // it is 1e-1001
  EXPECT_FALSE(Decimal::parse(std::string(2001, '9')).has_value());
  EXPECT_TRUE(Decimal::parse(std::string(2000, '9')).has_value());
}

TEST(Decimal, LongTextsTakeLinearTime) {
  EXPECT_TRUE(Decimal::parse("0." + std::string(1'000'000, '0')).has_value());
  EXPECT_FALSE(Decimal::parse(std::string(1'000'000, '7')).has_value());
  EXPECT_FALSE(Decimal::parse("1e" + std::string(1'000'000, '9')).has_value());
}

TEST(Decimal, ComparesByValueExactly) {
  const std::vector<std::string> rising = {"-1e400",
                                           "-100.01",
                                           "-100",
                                           "-99.999999999999999999999999",
                                           "-1e-400",
                                           "0",
                                           "1e-400",
                                           "0.1",
                                           "0.10000000000000000000000000000000000000001",
                                           "0.2",
                                           "1",
                                           "9",
                                           "9.5",
                                           "10",
                                           "99.99",
                                           "100",
                                           "100.000000000000000000000001",
                                           "101",
                                           "1e400"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(number(rising[i]) <=> number(rising[j]), i <=> j) << rising[i] << " and " << rising[j];
    }
  }
  EXPECT_EQ(number("1.50"), number("15e-1"));
  EXPECT_EQ(number("-0"), number("0.000e7"));
  EXPECT_EQ(number("100"), number("1e2"));
  // Where floats err: 0.1 + 0.2, and integers above 2^53.
  EXPECT_EQ(*Decimal::sum(number("0.1"), number("0.2")), number("0.3"));
  EXPECT_LT(number("9007199254740992"), number("9007199254740993"));
}

TEST(Decimal, AddsExactly) {
  EXPECT_EQ(sum("0.1", "0.2"), "0.3");
  EXPECT_EQ(sum("999.99", "0.01"), "1000");
  EXPECT_EQ(sum("-1", "1"), "0");
  EXPECT_EQ(sum("1", "-1.5"), "-0.5");
  EXPECT_EQ(sum("-2", "-0.25"), "-2.25");
  EXPECT_EQ(sum("0", "-3"), "-3");
  EXPECT_EQ(sum("1000", "-0.001"), "999.999");
  EXPECT_EQ(sum("18446744073709551616", "1"), "18446744073709551617");
  const auto wide = Decimal::sum(number("1e400"), number("1e-400"));
  ASSERT_TRUE(wide.has_value());
  EXPECT_GT(*wide, number("1e400"));
  EXPECT_EQ(*Decimal::sum(*wide, number("-1e400")), number("1e-400"));
  EXPECT_EQ(Decimal::sum(number("9e1999"), number("1e1999")).error().code, ErrorCode::kExhausted);
}

TEST(Decimal, ItsTextIsReadAsTheSameNumber) {
  const std::vector<std::pair<std::string, std::string>> texts = {{"0", "0"},
                                                                  {"-0.00", "0"},
                                                                  {"1.50", "1.5"},
                                                                  {"1e3", "1000"},
                                                                  {"0.001", "0.001"},
                                                                  {"12e-1", "1.2"},
                                                                  {"1e400", "1e400"},
                                                                  {"-125e-402", "-1.25e-400"},
                                                                  {"100", "100"},
                                                                  {"-7", "-7"},
                                                                  {"1e39", "1" + std::string(39, '0')},
                                                                  {"1e40", "1e40"}};
  for (const auto& [in, out] : texts) {
    EXPECT_EQ(number(in).text(), out);
    EXPECT_EQ(number(out), number(in));
  }
}

// Against 128-bit integers, of amounts with up to six places.
TEST(Decimal, AgreesWithIntegers) {
  std::mt19937_64 random(1);
  const auto text_of = [](std::int64_t millionths) {
    const bool negative = millionths < 0;
    std::string digits = std::to_string(negative ? -millionths : millionths);
    digits.insert(0, digits.size() < 7 ? 7 - digits.size() : 0, '0');
    digits.insert(digits.size() - 6, ".");
    return (negative ? "-" : "") + digits;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto draw = [&] {
      return static_cast<std::int64_t>(random() >> (8 + random() % 56)) * (random() % 2 == 0 ? 1 : -1);
    };
    const std::int64_t a = draw() / 4;
    const std::int64_t b = draw() / 4;
    EXPECT_EQ(number(text_of(a)) <=> number(text_of(b)), a <=> b) << a << " " << b;
    EXPECT_EQ(*Decimal::sum(number(text_of(a)), number(text_of(b))), number(text_of(a + b))) << a << " " << b;
  }
}

TEST(Decimal, IsMadeOfNumbersAndOfStringsThatSpellThem) {
  const auto values = read(R"([1.10, "1.1", "1,1", true, null, [1], {"a":1}, "1e999999999", ""])");
  ASSERT_TRUE(values.has_value());
  const auto items = values->items();
  EXPECT_EQ(*Decimal::of(items[0]), *Decimal::of(items[1]));
  for (std::size_t i = 2; i < items.size(); ++i) EXPECT_FALSE(Decimal::of(items[i]).has_value()) << i;
  EXPECT_EQ(Decimal::of(items[3]).error().message, "should be a number, is a boolean");
}

}  // namespace
}  // namespace casemate::json
