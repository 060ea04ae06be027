#include "policy/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace casemate::policy {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto glob = Glob::parse(pattern);
  EXPECT_TRUE(glob.has_value()) << pattern;
  return glob && glob->matches(text);
}

TEST(Glob, MatchesTheWholeText) {
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("abc", "abc"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_FALSE(matches("abc", "xabc"));
  EXPECT_FALSE(matches("abc", "Abc"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "any.thing/at\nall"));
  EXPECT_TRUE(matches("a*", "a"));
  EXPECT_FALSE(matches("a*", "ba"));
  EXPECT_TRUE(matches("*@example.com", "a@example.com"));
  EXPECT_FALSE(matches("*@example.com", "a@example.com.evil.org"));
  EXPECT_FALSE(matches("*@example.com", "a@example.com\n"));
  EXPECT_TRUE(matches("a*b*c", "aXbYc"));
  EXPECT_TRUE(matches("a*b*c", "abbbc"));
  EXPECT_FALSE(matches("a*b*c", "acb"));
  EXPECT_FALSE(matches("ab*ba", "aba"));  // the ends do not overlap
  EXPECT_TRUE(matches("**a**", "a"));
  EXPECT_TRUE(matches("*a*?", "aa"));
  EXPECT_FALSE(matches("*a*?", "ba"));
}

TEST(Glob, QuestionMarkIsOneCharacterOfAnySize) {
  EXPECT_TRUE(matches("?", "a"));
  EXPECT_TRUE(matches("?", "é"));
  EXPECT_TRUE(matches("?", "𝄞"));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_FALSE(matches("?", "ab"));
  EXPECT_TRUE(matches("a??d", "aécd"));
}

TEST(Glob, ABackslashTakesTheMeaning) {
  EXPECT_TRUE(matches("a\\*", "a*"));
  EXPECT_FALSE(matches("a\\*", "ab"));
  EXPECT_TRUE(matches("\\?\\\\", "?\\"));
  for (const char* bad : {"\\", "\\a", "a\\", "\\\\\\"}) {
    EXPECT_FALSE(Glob::parse(bad).has_value()) << bad;
  }
  EXPECT_FALSE(Glob::parse("a\xff").has_value());
  EXPECT_TRUE(Glob::parse("a\\*")->is_literal());
  EXPECT_FALSE(Glob::parse("a*")->is_literal());
}

TEST(Glob, IsBounded) {
  EXPECT_TRUE(Glob::parse(std::string(kGlobMax, 'a')).has_value());
  EXPECT_EQ(Glob::parse(std::string(kGlobMax + 1, 'a')).error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(Glob::parse(std::string(10 * kGlobMax, '*')).has_value());  // one star
  std::string most(kGlobMax - 1, '?');
  most.insert(most.begin(), '*');
  EXPECT_TRUE(matches(most, std::string(300, 'x')));
  EXPECT_FALSE(matches(most, std::string(254, 'x')));
}

// Each of these makes a matcher that goes back and tries again take quadratic time or worse.
TEST(Glob, LongTextsAreAnsweredAtOnce) {
  const std::string text(200'000, 'a');
  std::vector<std::string> patterns = {
      "*b", "*a*b", "*a?b*", "a*a*a*a*a*a*a*a*b*", "*" + std::string(200, 'a') + "b*", "*?*?*?*?*?*?b?*"};
  std::string many;
  for (int i = 0; i < 100; ++i) many += "*a";
  patterns.push_back(many + "*b?");
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& pattern : patterns) EXPECT_FALSE(matches(pattern, text)) << pattern;
  EXPECT_TRUE(matches(many, text));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

// Against the definition: a star takes every possible run in turn.
bool slow(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return slow(pattern.substr(1), text) || (!text.empty() && slow(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         slow(pattern.substr(1), text.substr(1));
}

TEST(Glob, AgreesWithTheDefinition) {
  std::mt19937_64 random(1);
  const auto draw = [&](std::string_view letters, std::size_t most) {
    std::string text;
    for (std::size_t i = random() % (most + 1); i > 0; --i) text += letters[random() % letters.size()];
    return text;
  };
  std::size_t matched = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string pattern = draw("ab*?", 8);
    const std::string text = draw("ab", 10);
    const bool expected = slow(pattern, text);
    matched += expected ? 1 : 0;
    ASSERT_EQ(matches(pattern, text), expected) << pattern << " " << text;
  }
  EXPECT_GT(matched, 10'000U);
}

}  // namespace
}  // namespace casemate::policy
