#include "toml/document.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace casemate::toml {
namespace {

using namespace std::string_literals;

// "line:column what" of each mistake; "(none)" when there is none.
std::string said(std::string_view text, const ReadLimits& limits = {}) {
  Mistakes mistakes;
  const auto root = read(text, limits, mistakes);
  EXPECT_EQ(root.has_value(), mistakes.empty());
  std::string all;
  for (const Mistake& mistake : mistakes.list()) {
    all += std::to_string(mistake.place.line) + ":" + std::to_string(mistake.place.column) + " " +
           mistake.what + "\n";
  }
  return all.empty() ? "(none)" : all;
}

Node root_of(std::string_view text) {
  Mistakes mistakes;
  auto root = read(text, {}, mistakes);
  EXPECT_TRUE(root.has_value()) << said(text);
  return root ? std::move(*root) : Node();
}

std::string place(Place place) { return std::to_string(place.line) + ":" + std::to_string(place.column); }

TEST(Toml, ReadsEveryKindInTheOrderOfTheFile) {
  const Node root = root_of(
      "z = 'text'\na = -5\nf = 1.5\nb = true\nd = 2020-01-01\nl = [1, [2], {x = 1}]\n[t]\nk = "
      "1\n[[e]]\n[[e]]\n");
  ASSERT_EQ(root.entries.size(), 8U);
  const Node::Kind kinds[] = {Node::Kind::kString,  Node::Kind::kInteger, Node::Kind::kFloat,
                              Node::Kind::kBoolean, Node::Kind::kTime,    Node::Kind::kArray,
                              Node::Kind::kTable,   Node::Kind::kArray};
  for (std::size_t i = 0; i < root.entries.size(); ++i) EXPECT_EQ(root.entries[i].value.kind, kinds[i]) << i;
  EXPECT_EQ(root.entries[0].key.text, "z");
  EXPECT_EQ(root.entries[0].value.text.text, "text");
  EXPECT_EQ(root.entries[1].value.integer, -5);
  EXPECT_TRUE(root.entries[3].value.truth);
  EXPECT_EQ(root.entries[5].value.items.size(), 3U);
  EXPECT_EQ(root.entries[7].value.items.size(), 2U);
}

TEST(Toml, EverythingKnowsItsPlace) {
  const Node root = root_of("a = 'x'\n  \"é\" = [ 'ö', 'b' ]\n[t]\n  k = 5\n");
  EXPECT_EQ(place(root.entries[0].key.place), "1:1");
  EXPECT_EQ(place(root.entries[0].value.place), "1:5");
  EXPECT_EQ(place(root.entries[1].key.place), "2:3");
  EXPECT_EQ(place(root.entries[1].value.items[0].place), "2:11");
  EXPECT_EQ(place(root.entries[1].value.items[1].place), "2:16");  // in characters, not bytes
  EXPECT_EQ(place(root.entries[2].value.entries[0].value.place), "4:7");
}

TEST(Toml, CharactersOfAStringHavePlaces) {
  const Node root = root_of(
      "a = 'héllo'\nb = \"x\\ty\"\nc = '''\none\ntwo'''\nd = \"\"\"in\nline\"\"\"\ne = ''\nf = \"\"\"\n\\\n  "
      "z\"\"\"\n");
  const Text& plain = root.entries[0].value.text;
  EXPECT_EQ(place(plain.at(0)), "1:6");
  EXPECT_EQ(place(plain.at(3)), "1:8");  // behind the é, which has two bytes
  EXPECT_EQ(place(plain.at(6)), "1:11");
  const Text& escaped = root.entries[1].value.text;
  EXPECT_EQ(place(escaped.at(1)), "2:7");
  EXPECT_EQ(place(escaped.at(2)), "2:5");  // behind the escape: where the string begins
  const Text& lines = root.entries[2].value.text;
  EXPECT_EQ(lines.text, "one\ntwo");
  EXPECT_EQ(place(lines.at(1)), "4:2");
  EXPECT_EQ(place(lines.at(5)), "5:2");
  EXPECT_EQ(place(root.entries[3].value.text.at(4)), "7:2");
  EXPECT_EQ(place(root.entries[4].value.text.at(0)), "8:6");
  EXPECT_EQ(root.entries[5].value.text.text, "z");
}

TEST(Toml, WhatIsNoTomlIsOneMistakeWithItsPlace) {
  EXPECT_EQ(said("a = 1\nb = \n").substr(0, 2), "2:");
  EXPECT_EQ(said("a = 1\na = 2\n").substr(0, 2), "2:");
  EXPECT_EQ(said("a = 01\n").substr(0, 2), "1:");
  EXPECT_EQ(said("[a\nb = 1\n").substr(0, 2), "1:");
  EXPECT_NE(said("a = 'x\ny'\n"), "(none)");
  EXPECT_NE(said("[*]\n"), "(none)");
  EXPECT_NE(said("[[*]]\n"), "(none)");
  EXPECT_NE(said("a.* = 1\n"), "(none)");
  for (const char* text :
       {"é = 1\n", "a é = 1\n", "a = é\n", "a = 1 é\n", "[é]\n", "a = \"\"\"\\é\"\"\"\n", "a = 1\u00a0\n"}) {
    EXPECT_EQ(said(text).substr(0, 2), "1:") << text;
  }
  EXPECT_NE(said("a = {\n b = 1 }\n"), "(none)");
  EXPECT_EQ(said(""), "(none)");
  EXPECT_EQ(said("# a comment alone"), "(none)");
}

TEST(Toml, RefusesBytesThatAreNoText) {
  EXPECT_EQ(said("a = 1\nb = 'x\0y'\n"s), "2:7 a NUL byte\n");
  EXPECT_EQ(said("\0"s), "1:1 a NUL byte\n");
  EXPECT_NE(said("a = 'x' # \0\n"s), "(none)");
  for (const char* text :
       {"a = '\xff'\n", "\xfe\xff", "a = '\xed\xa0\x80'\n", "# \xc3\n", "a = \"\xc0\x80\"", "\xc3"}) {
    EXPECT_NE(said(text), "(none)") << text;
  }
}

TEST(Toml, BoundsSizeDepthAndKeys) {
  const ReadLimits limits{.bytes_max = 100, .depth_max = 3, .key_parts_max = 3};
  EXPECT_EQ(said(std::string(100, '#'), limits), "(none)");
  EXPECT_EQ(said(std::string(101, '#'), limits), "1:1 the file has more than 100 bytes\n");
  EXPECT_EQ(said("a = [[[1]]]", limits), "(none)");
  EXPECT_EQ(said("a = [[[[1]]]]", limits), "1:8 more than 3 lists and tables in each other\n");
  EXPECT_EQ(said("a = [{b = [1]}]", limits), "(none)");
  EXPECT_EQ(said("a.b.c = 1", limits), "(none)");
  EXPECT_EQ(said("[a.b.c]\n", limits), "(none)");
  EXPECT_EQ(said("\n[a.b.c.d]\n", limits), "2:7 a key of more than 3 parts\n");
  EXPECT_EQ(said("a.\"b.x.y\" . c . 'd' = 1", limits), "1:15 a key of more than 3 parts\n");
  EXPECT_EQ(said("a = [1.5, 2.5, 3.5, 4.5, 5.5]", limits), "(none)");
  EXPECT_EQ(said("a = 'x.x.x.x.[[[[[' # [[[[[ . . . .", limits), "(none)");
  EXPECT_EQ(said("a = '''\n. . . . [[[[[\n'''\nb = \"\\\"[[[[[\"", limits), "(none)");
}

TEST(Toml, HostileFilesAreAnsweredAtOnce) {
  const auto begun = std::chrono::steady_clock::now();
  const std::size_t most = ReadLimits().bytes_max;
  const auto repeated = [&](std::string_view piece) {
    std::string text;
    while (text.size() + piece.size() <= most) text += piece;
    return text;
  };
  EXPECT_NE(said(repeated("[")), "(none)");
  EXPECT_NE(said("a = " + repeated("[").substr(4)), "(none)");
  EXPECT_NE(said(repeated("a.")), "(none)");
  EXPECT_NE(said("a = " + repeated("{a=").substr(4)), "(none)");
  EXPECT_NE(said(repeated("\"")), "(none)");
  EXPECT_NE(said(repeated("'''")), "(none)");
  const std::string items = repeated("'ä',").substr(5 * 20);  // one line of many strings
  EXPECT_EQ(said("\"é\" = [" + items + "]"), "(none)");
  EXPECT_EQ(said(repeated("[[a]]\n")), "(none)");
  EXPECT_EQ(said(repeated("# é\n")), "(none)");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST(Toml, KeepsAHundredMistakesInOrderAndCountsTheRest) {
  Mistakes mistakes;
  for (std::uint32_t i = 0; i < 120; ++i) mistakes.add({200 - i, 1}, "m");
  const auto list = mistakes.list();
  ASSERT_EQ(list.size(), Mistakes::kKept + 1);
  EXPECT_LT(list[0].place, list[1].place);
  EXPECT_EQ(list.back().what, "and 20 more mistakes");
}

TEST(Toml, WhatIsShownIsOneBoundedLine) {
  EXPECT_EQ(shown("a\nb\x1b\x7f"), "a\\x0ab\\x1b\\x7f");
  EXPECT_LT(shown(std::string(10'000, 'x')).size(), 200U);
  EXPECT_EQ(shown("é"), "é");
}

}  // namespace
}  // namespace casemate::toml
