#include "json/utf8.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace casemate::json {
namespace {

using namespace std::string_literals;

const std::string kFffd = "\xEF\xBF\xBD";

struct TextCase {
  const char* what;
  std::string bytes;
  std::string text;
};

const std::vector<TextCase>& text_cases() {
  static const std::vector<TextCase> kCases = {
      {"empty", "", ""},
      {"ascii", "plain\n\0x"s, "plain\n\0x"s},
      {"two, three, four bytes", "\u00fc\u4f60\U0001F600", "\u00fc\u4f60\U0001F600"},
      {"the edges", "\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff",
       "\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"},
      {"gbk", "\xc4\xe3\xba\xc3\n", kFffd + kFffd + kFffd + "\n"},
      {"a lone surrogate", "\xed\xa0\xbdtail", kFffd + kFffd + kFffd + "tail"},
      {"overlong slash", "\xc0\xaf.\xe0\x80\xaf.\xf0\x80\x80\xaf",
       kFffd + kFffd + "." + kFffd + kFffd + kFffd + "." + kFffd + kFffd + kFffd + kFffd},
      {"above U+10FFFF", "\xf4\x90\x80\x80", kFffd + kFffd + kFffd + kFffd},
      {"f5 to ff", "\xf5\xff", kFffd + kFffd},
      // Each maximal subpart of a truncated sequence becomes one mark.
      {"Unicode 15, table 3-11", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", kFffd + kFffd + kFffd + kFffd + "A"},
      {"a lone continuation", "a\x80z", "a" + kFffd + "z"},
      {"unfinished at the end", "a\xf0\x9f\x98", "a" + kFffd},
  };
  return kCases;
}

TEST(ToText, ReplacesMaximalSubparts) {
  for (const TextCase& test : text_cases()) {
    SCOPED_TRACE(test.what);
    const Text text = to_text(test.bytes);
    EXPECT_EQ(text.text, test.text);
    EXPECT_EQ(text.lossy, test.text != test.bytes);
    EXPECT_EQ(is_valid_utf8(test.bytes), !text.lossy);
    EXPECT_TRUE(is_valid_utf8(text.text));
  }
}

TEST(ToText, EveryScalarValueAndNoSurrogateIsValid) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string bytes;
    append_utf8(bytes, code);
    const Char back = decode(bytes);
    ASSERT_EQ(back.kind, Char::Kind::kValid) << std::hex << static_cast<unsigned>(code);
    ASSERT_EQ(back.code, code);
    ASSERT_EQ(back.size, bytes.size());
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      ASSERT_EQ(decode(std::string_view(bytes).substr(0, cut)).kind, Char::Kind::kUnfinished);
      ASSERT_EQ(complete_prefix("x" + bytes.substr(0, cut)), 1u);
    }
    ASSERT_EQ(complete_prefix(bytes), bytes.size());
  }
  for (unsigned second = 0xA0; second <= 0xBF; ++second) {
    const std::string surrogate = {static_cast<char>(0xED), static_cast<char>(second),
                                   static_cast<char>(0x80)};
    ASSERT_FALSE(is_valid_utf8(surrogate));
  }
}

// Bytes that are often nearly right: characters, cut characters, lone bytes, controls.
std::string messy_bytes(std::mt19937_64& random, std::size_t pieces) {
  static const std::vector<std::string> kAlphabet = {
      "a",        "plain text ", "\u00f8",       "\u2500",       "\U0001F600",   "\xc3",
      "\xe2\x94", "\xf0\x9f",    "\xf0\x9f\x98", "\x80",         "\xff",         "\n",
      "\r",       "\x1b[31m",    "\x1b",         "\xed\xa0\xbd", "\x1b]0;t\x07", "\x1b]",
      "\x1b\\",   "\u202e",      "\u009b",       "\t",           "\0"s,          "\r\n"};
  std::string bytes;
  for (std::size_t i = 0; i < pieces; ++i) bytes += kAlphabet[random() % kAlphabet.size()];
  return bytes;
}

TEST(TextStream, ChunkingNeverChangesTheText) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::string bytes = messy_bytes(random, 1 + random() % 40);
    const Text whole = to_text(bytes);
    TextStream stream;
    std::string pieced;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % 5;
      stream.feed(std::string_view(bytes).substr(at, size), pieced);
      ASSERT_TRUE(is_valid_utf8(pieced));
      at += size;
    }
    stream.finish(pieced);
    ASSERT_EQ(pieced, whole.text);
    ASSERT_EQ(stream.lossy(), whole.lossy);
  }
}

TEST(TextStream, HoldsBackOnlyWhatCanStillBeCompleted) {
  TextStream stream;
  std::string out;
  stream.feed("\xc3", out);
  EXPECT_EQ(out, "");
  stream.feed("\xb8\n", out);
  EXPECT_EQ(out, "\u00f8\n");
  stream.finish(out);
  EXPECT_EQ(out, "\u00f8\n");
  EXPECT_FALSE(stream.lossy());
}

TEST(CompletePrefix, LeavesOutAnUnfinishedCharacterOnly) {
  EXPECT_EQ(complete_prefix(""), 0u);
  EXPECT_EQ(complete_prefix("abc"), 3u);
  EXPECT_EQ(complete_prefix("ab\xe2\x94"), 2u);
  EXPECT_EQ(complete_prefix("ab\xf0\x9f\x98"), 2u);
  EXPECT_EQ(complete_prefix("ab\x80\x80"), 4u);  // nothing can complete these
  EXPECT_EQ(complete_prefix("ab\xe0\x80"), 4u);  // overlong: already wrong
  EXPECT_EQ(complete_prefix("\xf0\x9f\x98\x80"), 4u);
}

struct EscapeCase {
  const char* what;
  std::string text;
  std::string shown;
};

TEST(EscapeControl, TakesThePowerOutOfText) {
  const std::vector<EscapeCase> cases = {
      {"colours and title", "\x1b[31mred\x1b[0m \x1b[2J\x1b]0;title\x07plain\n", "red plain\n"},
      {"osc ended by ST", "a\x1b]8;;http://x\x1b\\b", "ab"},
      {"dcs, apc", "a\x1bPq#0\x1b\\b\x1b_x\x1b\\c", "abc"},
      {"two-character escapes",
       "a\x1b"
       "cb\x1b(Bc\x1b=d",
       "abcd"},
      {"newline and tab stay", "a\tb\nc", "a\tb\nc"},
      {"controls", "a\x01\x7f\0b\bc"s, "a\\x01\\x7f\\x00b\\x08c"},
      {"c1 as characters", "\u009b31m\u0085", "\\u009b31m\\u0085"},
      {"an escape alone", "a\x1b", "a\\x1b"},
      {"an escape and a newline", "a\x1b\nb", "a\\x1b\nb"},
      {"a csi that breaks off", "a\x1b[31\nb", "a\\x1b[31\nb"},
      {"an osc that never ends hides nothing", "a\x1b]0;evil text", "a\\x1b]0;evil text"},
      {"an osc broken by a newline", "\x1b]0;x\nsecret\x07", "\\x1b]0;x\nsecret\\x07"},
      {"an osc broken by another sequence", "\x1b]0;x\x1b[31my", "\\x1b]0;xy"},
      {"an escape within an escape", "\x1b\x1b[31mx", "\\x1bx"},
      {"right-to-left override", "a\u202e\u2066b\u2028", "a\\u202e\\u2066b\\u2028"},
      {"tag characters", "a\U000e0041\U000e007fb", "a\\U000e0041\\U000e007fb"},
      {"invalid bytes", "a\xff", "a" + kFffd},
      {"crlf", "a\r\nb\r\n", "a\nb\n"},
      {"progress", "10 %\r 20 %\r100 %\ndone\n", "100 %\ndone\n"},
      {"progress that ends in a return", "10 %\r100 %\r", "100 %"},
      {"progress with erase", "10 %\r\x1b[K100 %\r\n", "100 %\n"},
      {"returns without end", "x\r\r\r\r\n", "x\n"},
      {"a return at the start", "a\n\rb", "a\nb"},
  };
  for (const EscapeCase& test : cases) {
    SCOPED_TRACE(test.what);
    EXPECT_EQ(escape_control(test.text), test.shown);
  }
}

TEST(EscapeControl, ASequenceTooLongIsShown) {
  const std::string inside(ControlEscaper::kSequenceMax - 2, 'p');
  EXPECT_EQ(escape_control("\x1b]" + inside + "\x07z"), "\\x1b]" + inside + "\\x07z");
  const std::string shorter(ControlEscaper::kSequenceMax - 3, 'p');
  EXPECT_EQ(escape_control("\x1b]" + shorter + "\x07z"), "z");
}

bool harmless(std::string_view text) {
  while (!text.empty()) {
    const Char next = decode(text);
    if (next.kind != Char::Kind::kValid) return false;
    if (next.code < 0x20 && next.code != '\n' && next.code != '\t') return false;
    if (next.code >= 0x7f && next.code <= 0x9f) return false;
    if (next.code == 0x202e) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

TEST(EscapeControl, IsHarmlessAndDoesNotDependOnChunks) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::string text = to_text(messy_bytes(random, 1 + random() % 60)).text;
    const std::string whole = escape_control(text);
    ASSERT_TRUE(harmless(whole)) << whole;
    for (const CarriageReturn returns : {CarriageReturn::kFinalState, CarriageReturn::kPass}) {
      ControlEscaper at_once(returns);
      ControlEscaper piecewise(returns);
      std::string expected;
      std::string pieced;
      at_once.feed(text, expected);
      at_once.finish(expected);
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t size = decode(rest).size;
        piecewise.feed(rest.substr(0, size), pieced);
        rest.remove_prefix(size);
      }
      piecewise.finish(pieced);
      ASSERT_EQ(pieced, expected);
      if (returns == CarriageReturn::kFinalState) {
        ASSERT_EQ(expected, whole);
      }
    }
  }
}

TEST(EscapeControl, TakesLinearTime) {
  // Each of these made some terminal or filter quadratic; 2 MiB must pass in an eye's blink.
  for (const std::string& unit : {"\x1b"s, "\x1b]"s, "\x1b[1"s, "\r"s, "x\r"s, "\x1b]\x1b"s, "\xf0\x9f"s}) {
    std::string text;
    while (text.size() < (std::size_t{2} << 20)) text += unit;
    const auto start = std::chrono::steady_clock::now();
    const std::string shown = escape_control(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    EXPECT_LE(shown.size(), 4 * text.size());
  }
}

TEST(OneLine, IsOneBoundedLine) {
  EXPECT_EQ(one_line("plain", 20), "plain");
  EXPECT_EQ(one_line("a\nb\tc\rd\x1b[0m", 40), "a\\nb\\tc\\rd\\x1b[0m");
  EXPECT_EQ(one_line("12345", 5), "12345");
  EXPECT_EQ(one_line("123456", 5), "12\u2026");
  EXPECT_EQ(one_line("\u4f60\u597d\u4f60", 8), "\u4f60\u2026");
  EXPECT_EQ(one_line("\n\n\n\n", 5), "\\n\u2026");
  EXPECT_EQ(one_line("", 3), "");
  EXPECT_EQ(one_line("\xc3.txt", 20), kFffd + ".txt");
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::string bytes = messy_bytes(random, random() % 40);
    const std::size_t max = 3 + random() % 60;
    const std::string line = one_line(bytes, max);
    ASSERT_LE(line.size(), max);
    ASSERT_TRUE(harmless(line));
    ASSERT_EQ(line.find_first_of("\n\t"), std::string::npos);
  }
}

TEST(CutText, CutsBetweenCharacters) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abc", 2), "ab");
  EXPECT_EQ(cut_text("a\u4f60", 3), "a");
  EXPECT_EQ(cut_text("a\u4f60", 4), "a\u4f60");
}

}  // namespace
}  // namespace casemate::json
