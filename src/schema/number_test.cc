#include "schema/number.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace casemate::schema {
namespace {

Decimal decimal(std::string_view text) {
  const auto number = Decimal::parse(text);
  EXPECT_TRUE(number.has_value()) << text;
  return number ? *number : Decimal();
}

TEST(Decimal, ComparesExactly) {
  const std::vector<std::string_view> rising = {"-1e999999999",
                                                "-18446744073709551616",
                                                "-10",
                                                "-9.99",
                                                "-1.5",
                                                "-1e-999999999",
                                                "0",
                                                "1e-999999999",
                                                "0.1",
                                                "0.10000000000000000001",
                                                "1.4999999999999999999999999",
                                                "1.5",
                                                "9.99",
                                                "10",
                                                "100",
                                                "101",
                                                "18446744073709551615",
                                                "18446744073709551616",
                                                "1e400",
                                                "1e999999999"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(decimal(rising[i]) <=> decimal(rising[j]), i <=> j) << rising[i] << " and " << rising[j];
    }
  }
}

TEST(Decimal, SpellingsOfOneNumberAreEqual) {
  const std::vector<std::vector<std::string_view>> same = {
      {"0", "-0", "0.0", "0e99999999999999999999", "-0.000E+5"},
      {"1.5", "1.50", "15e-1", "0.15E1", "1500e-3", "0.0000000000000000000000000000015e30"},
      {"-1000", "-1e3", "-1.0e+3", "-10.00E2"},
      {"18446744073709551616", "1.8446744073709551616e19"},
  };
  for (const auto& spellings : same) {
    for (const std::string_view one : spellings) {
      EXPECT_EQ(decimal(one), decimal(spellings.front())) << one;
      EXPECT_EQ(decimal(one).canonical(), decimal(spellings.front()).canonical()) << one;
    }
  }
  EXPECT_NE(decimal("9007199254740993"), decimal("9007199254740992"));
  EXPECT_NE(decimal("1e400"), decimal("1e401"));
  EXPECT_NE(decimal("0.1"), decimal("0.1000000000000000055511151231257827"));
}

TEST(Decimal, TakesOnlyNumbers) {
  for (const std::string_view text : {"", "-", "+1", "01", ".5", "1.", "1e", "1e+", "0x1", "1 ", " 1", "NaN",
                                      "1,5", "--1", "1.2.3", "1e1.5", "Infinity"}) {
    EXPECT_FALSE(Decimal::parse(text).has_value()) << text;
    EXPECT_FALSE(is_number_text(text)) << text;
  }
  EXPECT_EQ(Decimal::parse("1x").error().code, ErrorCode::kInvalid);
}

TEST(Decimal, ExponentsAreBounded) {
  EXPECT_TRUE(Decimal::parse("1e999999999").has_value());
  EXPECT_TRUE(Decimal::parse("1e-0000000000000000000999999999").has_value());
  for (const std::string_view text : {"1e1000000000", "1e-1000000000", "1e99999999999999999999999"}) {
    ASSERT_FALSE(Decimal::parse(text).has_value()) << text;
    EXPECT_EQ(Decimal::parse(text).error().code, ErrorCode::kExhausted);
  }
}

TEST(Decimal, KnowsIntegersWhateverTheirSpelling) {
  for (const std::string_view text : {"0", "-0.0", "1.0", "1e3", "1.5e1", "120e-1", "1e999999999"}) {
    EXPECT_TRUE(decimal(text).is_integer()) << text;
  }
  for (const std::string_view text : {"0.5", "1e-1", "123e-3", "1e-999999999"}) {
    EXPECT_FALSE(decimal(text).is_integer()) << text;
  }
}

TEST(Decimal, DividesWithoutARest) {
  const auto multiple = [](std::string_view a, std::string_view b) {
    return decimal(a).is_multiple_of(decimal(b));
  };
  EXPECT_TRUE(multiple("0.0075", "0.0001"));
  EXPECT_FALSE(multiple("0.00751", "0.0001"));
  EXPECT_TRUE(multiple("19.99", "0.01"));  // by doubles it is not
  EXPECT_TRUE(multiple("4.35", "0.05"));
  EXPECT_TRUE(multiple("0", "7"));
  EXPECT_TRUE(multiple("-21", "7"));
  EXPECT_FALSE(multiple("-20", "7"));
  EXPECT_TRUE(multiple("99999999999999999000000", "99999999999999999"));
  EXPECT_TRUE(multiple("1e999999999", "8"));
  EXPECT_FALSE(multiple("1e999999999", "3"));
  EXPECT_FALSE(multiple("1e-999999999", "2"));
  EXPECT_TRUE(multiple("1e308", "0.5"));
  EXPECT_FALSE(multiple("1e308", "0.123456789"));
}

TEST(Decimal, AgreesWithIntegers) {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto a = static_cast<std::int64_t>(engine() % 2'000'001) - 1'000'000;
    const auto b = static_cast<std::int64_t>(engine() % 5'000) + 1;
    // The same two numbers, each scaled by a power of ten of its own in the text and back in the exponent.
    const auto spelled = [&](std::int64_t n, std::size_t zeros) {
      return std::to_string(n) + std::string(zeros, '0') + "e-" + std::to_string(zeros);
    };
    const Decimal x = decimal(spelled(a, engine() % 5));
    const Decimal y = decimal(spelled(b, engine() % 5));
    EXPECT_EQ(x <=> y, a <=> b) << a << " " << b;
    EXPECT_EQ(x.is_multiple_of(y), a % b == 0) << a << " " << b;
    EXPECT_EQ(x.is_integer(), true);
    EXPECT_EQ(x.as_count(), a < 0 ? std::nullopt : std::optional<std::uint64_t>(a));
  }
}

TEST(Decimal, CountsAreWholeAndCapped) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(decimal("2.0").as_count(), 2U);
  EXPECT_EQ(decimal("1e3").as_count(), 1000U);
  EXPECT_EQ(decimal("-0").as_count(), 0U);
  EXPECT_EQ(decimal("18446744073709551615").as_count(), kMost);
  EXPECT_EQ(decimal("18446744073709551614").as_count(), kMost - 1);
  EXPECT_EQ(decimal("18446744073709551616").as_count(), kMost);
  EXPECT_EQ(decimal("1e999999999").as_count(), kMost);
  EXPECT_EQ(decimal("-1").as_count(), std::nullopt);
  EXPECT_EQ(decimal("1.5").as_count(), std::nullopt);
}

TEST(Decimal, HugeExponentsAndLongDigitsAreQuick) {
  const std::string digits(1'000'000, '7');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(decimal(digits).is_multiple_of(decimal("999999999999999999")));
  EXPECT_LT(decimal(digits), decimal("1e999999999"));
  EXPECT_FALSE(decimal("1e999999999").is_multiple_of(decimal("999999999999999989")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace casemate::schema
