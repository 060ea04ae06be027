#include "schema/python_name.h"

#include <algorithm>
#include <random>
#include <set>

#include "json/utf8.h"
#include "schema/test_support.h"

namespace casemate::schema {
namespace {

std::vector<std::string> names(std::vector<std::string_view> list) { return python_names(list); }

TEST(PythonNames, KeepNamesThatPythonHas) {
  EXPECT_EQ(names({"a", "_b", "C3", "match", "type", "print", "self"}),
            (std::vector<std::string>{"a", "_b", "C3", "match", "type", "print", "self"}));
}

TEST(PythonNames, MakeOthersAlike) {
  EXPECT_EQ(names({"from", "content-type", "2nd", "", "a b", "é", "None", "a.b", "π"}),
            (std::vector<std::string>{"from_", "content_type", "_2nd", "_", "a_b", "__2", "None_", "a_b_2",
                                      "__3"}));
}

TEST(PythonNames, NoTwoAreTheSameAndExactNamesComeFirst) {
  EXPECT_EQ(names({"a.b", "a-b", "a_b", "from", "from_", "from_2"}),
            (std::vector<std::string>{"a_b_2", "a_b_3", "a_b", "from__2", "from_", "from_2"}));
  const std::string long_name(300, 'x');
  const std::string other = long_name + "y";
  const std::vector<std::string> cut = names({long_name, other});
  EXPECT_NE(cut[0], cut[1]);
  for (const std::string& name : cut) EXPECT_LE(name.size(), kPythonNameMax);
}

TEST(PythonNames, ManyThatAreAlikeAreQuick) {
  std::vector<std::string> texts;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (int bits = i; bits > 0; bits /= 2) text += bits % 2 == 0 ? "-" : "+";
    texts.push_back("a" + text + std::string(20 - text.size(), '.'));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::vector<std::string> made = python_names(views);
  EXPECT_EQ(std::set<std::string>(made.begin(), made.end()).size(),
            std::set<std::string>(texts.begin(), texts.end()).size());
}

// Whatever a text holds, Python reads it back from the literal, and a docstring and a comment stay what they
// are.
TEST(PythonTexts, CannotBeBrokenOutOf) {
  std::vector<std::string> texts = {"",
                                    "plain",
                                    "\"",
                                    "\"\"\"",
                                    "\\",
                                    "a\\\"\"\"",
                                    "'''",
                                    "\"\"\"\nimport os",
                                    "a\n",
                                    "a\" \n",
                                    "a\\\"",
                                    "\\\"\"\"\"",
                                    "\r\n\f\v",
                                    "\x1b[2J",
                                    "\\N{DASH}",
                                    "\\u0022",
                                    "type: int",
                                    "{x} %s",
                                    "\u202e\u2066",
                                    "é𝄞\u2028",
                                    "a\"\r\n\"\"",
                                    "x\ty",
                                    std::string("nul\0nul", 7)};
  std::mt19937_64 engine(11);
  const std::vector<std::string> pieces = {"\"", "\\", "\n", "'", " ",    "a",
                                           "\r", "#",  "é",  "{", "\x7f", "N{"};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = engine() % 12; n > 0; --n) text += pieces[engine() % pieces.size()];
    texts.push_back(text);
  }
  std::string program = "import ast, sys\n";
  for (const std::string& text : texts) {
    ASSERT_TRUE(json::is_valid_utf8(text));
    std::string hex;
    for (const char c : text) {
      hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
      hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    }
    const std::string literal = python_string(text);
    EXPECT_EQ(literal.find('\n'), std::string::npos);
    program += "assert " + literal + " == bytes.fromhex('" + hex + "').decode(), '" + hex + "'\n";
    const std::string comment = python_comment(text, 100);
    EXPECT_EQ(comment.find_first_of("\n\r\f\v"), std::string::npos);
    EXPECT_FALSE(comment.starts_with("type:"));
    program += "def f():\n    " + python_docstring(text, 4) +
               "\nassert f.__doc__ is not None and len(f.__code__.co_code) < 20\n";
    program += "x = 1  # " + comment + "\n";
  }
  const ScratchFile file("texts.py", program);
  EXPECT_EQ(output_of("/usr/bin/python3 " + file.path()), "");
}

TEST(PythonTexts, DocstringsKeepTheirLines) {
  EXPECT_EQ(python_docstring("\n one\n  two  \n\nthree\n", 4),
            "\"\"\"one\n      two\n\n    three\n    \"\"\"");
  EXPECT_EQ(python_docstring("say \"this\"", 4), "\"\"\"say \"this\\\"\"\"\"");
  EXPECT_EQ(python_docstring("say\n\"this\"", 2), "\"\"\"say\n  \"this\"\n  \"\"\"");
  EXPECT_EQ(python_docstring("a\x1b[0m", 4), "\"\"\"a\\\\x1b[0m\"\"\"");
  EXPECT_EQ(python_docstring("", 4), "\"\"\"\"\"\"");
}

}  // namespace
}  // namespace casemate::schema
