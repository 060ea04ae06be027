#include "schema/pattern.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "schema/ecma.h"

namespace casemate::schema {
namespace {

using namespace std::string_literals;

bool found(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::compile(pattern);
  EXPECT_TRUE(compiled.has_value()) << pattern << ": " << compiled.error().message;
  return compiled && compiled->is_found_in(text);
}
std::string refusal(std::string_view pattern) {
  const auto compiled = Pattern::compile(pattern);
  return compiled ? "(none)" : compiled.error().message;
}

TEST(Pattern, IsSearchedForAnywhere) {
  EXPECT_TRUE(found("b", "abc"));
  EXPECT_FALSE(found("^b", "abc"));
  EXPECT_TRUE(found("", ""));
  EXPECT_FALSE(found("^abc$", "abc\n"));  // unlike Python
  EXPECT_FALSE(found("^b", "a\nb"));
}

struct Case {
  std::string_view pattern;
  std::vector<std::string> yes;
  std::vector<std::string> no;
};

TEST(Pattern, MeansWhatEcmaMeans) {
  const std::vector<Case> cases = {
      {"^.$", {"a", "é", "𝄞", "\t"}, {"\n", "\r", "\u2028", "\u2029", "ab", ""}},
      {"^\\s$",
       {" ", "\t", "\v", "\n", "\u00a0", "\ufeff", "\u2003", "\u2029", "\u3000"},
       {"a", "\u0001", "\u2013", "\u200b"}},
      {"^\\S$",
       {"a", "\u0001", "\u2013", "\u200b", "𝄞"},
       {" ", "\t", "\v", "\u00a0", "\ufeff", "\u2003", "\u2029"}},
      {"^[\\s]$", {" ", "\u00a0"}, {"a"}},
      {"^[^\\s]$", {"a"}, {" ", "\u00a0"}},
      {"^[\\S]$", {"a"}, {" ", "\u00a0"}},
      {"^\\d$", {"0", "9"}, {"\u07c0", "a"}},
      {"^\\w$", {"a", "_", "7"}, {"é", "-"}},
      {"^\\W$", {"é", "-"}, {"a"}},
      {"^[^]$", {"a", "\n", "𝄞"}, {""}},
      {"^[]$", {}, {"", "a", "]"}},
      {"^[\\w-.]$", {"a", "-", "."}, {"/", "+"}},
      {"^[[:x]$", {"[", ":", "x"}, {"a"}},
      {"^[a^]$", {"a", "^"}, {"b"}},
      {"^[\\]\\-\\\\]$", {"]", "-", "\\"}, {"a"}},
      {"^\\cC$", {"\u0003"}, {"\\cC", "C"}},
      {"^\\x41\\u0042\\u{43}\\u{1D11E}\\uD834\\uDD1E$", {"ABC𝄞𝄞"}, {"ABC"}},
      {"^\\0$", {"\0"s}, {"0", ""}},
      {"^[\\b]$", {"\b"}, {"b"}},
      {"\\bon\\b", {"an on b"}, {"bonn"}},
      {"^\\/\\-\\#\\é$", {"/-#é"}, {"\\/"}},
      {"^(?<year>\\d{4})-(?:\\d{2})$", {"2026-11"}, {"26-11"}},
      {"^\\p{L}\\p{Letter}\\p{Lu}$", {"éaB"}, {"1aB", "éab"}},
      {"^\\P{L}$", {"1"}, {"a"}},
      {"^[\\p{Script=Greek}]+$", {"αβ"}, {"ab"}},
      {"^\\p{Cased_Letter}$", {"a", "É"}, {"1", "中"}},
      {"^a{2,3}?$", {"aa", "aaa"}, {"a", "aaaa"}},
      {"^a{,2}$", {"a{,2}"}, {"a"}},
      {"^𝄞*$", {"𝄞𝄞", ""}, {"𝄞a"}},
  };
  for (const Case& one : cases) {
    for (const std::string& text : one.yes)
      EXPECT_TRUE(found(one.pattern, text)) << one.pattern << " in " << text;
    for (const std::string& text : one.no)
      EXPECT_FALSE(found(one.pattern, text)) << one.pattern << " in " << text;
  }
}

TEST(Pattern, WhatOnlyOneOfTheTwoKnowsIsRefused) {
  const std::vector<std::pair<std::string_view, std::string_view>> refused = {
      {"(?=a)", "looking ahead"},
      {"(?!a)", "looking ahead"},
      {"(?<=a)b", "looking behind"},
      {"(?<!a)b", "looking behind"},
      {"(a)\\1", "references back"},
      {"(?<n>a)\\k<n>", "references back"},
      {"(?i)a", "may follow"},
      {"(?P<n>a)", "may follow"},
      {"\\Aa", "no such escape"},
      {"a\\z", "no such escape"},
      {"a\\Z", "no such escape"},
      {"\\Qa\\E", "no such escape"},
      {"\\a", "no such escape"},
      {"\\C", "no such escape"},
      {"\\_\\y", "no such escape"},
      {"a\\", "no such escape"},
      {"\\07", "octal"},
      {"\\x4", "hex digits"},
      {"\\u12", "hex digits"},
      {"\\uD834", "surrogate"},
      {"\\uDD1E", "surrogate"},
      {"\\u{110000}", "no such character"},
      {"\\u{}", "hex digits"},
      {"\\pL", "braces"},
      {"\\p{Nope}", "invalid"},
      {"\\p{a-b}", "no such property"},
      {"[a-\\d]", "a range ends"},
      {"[a", "does not end"},
      {"[z-a]", "invalid"},
      {"a**", "bad repetition"},
      {"(a", "missing"},
      {"\\c1", "a letter"},
      {"(?<>a)", "name"},
  };
  for (const auto& [pattern, said] : refused) {
    const std::string message = refusal(pattern);
    EXPECT_NE(message.find(said), std::string::npos) << pattern << ": " << message;
  }
}

TEST(Pattern, IsBounded) {
  EXPECT_EQ(refusal(std::string(kPatternBytesMax, 'a')), "(none)");
  EXPECT_NE(refusal(std::string(kPatternBytesMax + 1, 'a')).find("bytes"), std::string::npos);
  EXPECT_EQ(refusal("a{1000}"), "(none)");
  EXPECT_NE(refusal("a{1001}").find("too large"), std::string::npos);
  EXPECT_NE(refusal("((a{100}){100}){100}").find("too large"), std::string::npos);
  EXPECT_NE(refusal("(\\p{L}{50}){10}").find("too large"), std::string::npos);
  EXPECT_EQ(refusal("^.{1,200}$"), "(none)");
}

TEST(Pattern, NoTextMakesItSlow) {
  const std::string letters(200'000, 'a');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(found("^(a|b)*$", letters));
  EXPECT_FALSE(found("^(a|b)*$", letters + "c"));
  EXPECT_FALSE(found("^(a+)+$", letters + "c"));
  EXPECT_FALSE(found("(a*)*b", letters));
  EXPECT_FALSE(found("(.*)(.*)(.*)(.*)(.*)[^a]b", letters));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace casemate::schema
