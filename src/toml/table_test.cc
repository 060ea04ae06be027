#include "toml/table.h"

#include <gtest/gtest.h>

#include <string>

namespace casemate::toml {
namespace {

// Reads the text and hands the file's table to `body`; what was said, a line each.
std::string said(std::string_view text, auto body) {
  Mistakes mistakes;
  const auto root = read(text, {}, mistakes);
  EXPECT_TRUE(root.has_value());
  if (!root) return "no TOML";
  Table file(*root, "", mistakes);
  body(file);
  file.finish();
  std::string all;
  for (const Mistake& mistake : mistakes.list()) {
    all += std::to_string(mistake.place.line) + ":" + std::to_string(mistake.place.column) + " " +
           mistake.what + "\n";
  }
  return all;
}

TEST(Table, AbsentEmptyAndPresentDiffer) {
  EXPECT_EQ(said("empty = []\nlist = ['a', 'b']\n",
                 [](Table& file) {
                   EXPECT_FALSE(file.texts("absent", 5).has_value());
                   const auto empty = file.texts("empty", 5);
                   ASSERT_TRUE(empty.has_value());
                   EXPECT_TRUE(empty->items.empty());
                   const auto list = file.texts("list", 5);
                   ASSERT_TRUE(list.has_value());
                   ASSERT_EQ(list->items.size(), 2U);
                   EXPECT_EQ(list->items[1].text, "b");
                   EXPECT_FALSE(file.text("nothing").has_value());
                   EXPECT_FALSE(file.table("nowhere").has_value());
                   EXPECT_TRUE(file.tables("none", 5).empty());
                 }),
            "");
}

TEST(Table, AllMistakesComeTogether) {
  EXPECT_EQ(said("a = 1\nb = 'x'\nc = [1, 'y', true]\nd = 9\ne = 'odd'\n[typo]\nx = 1\n[t]\nwrong = 1\n",
                 [](Table& file) {
                   EXPECT_FALSE(file.text("a").has_value());
                   EXPECT_FALSE(file.integer("b", 0, 5).has_value());
                   const auto c = file.texts("c", 5);
                   ASSERT_TRUE(c.has_value());
                   EXPECT_EQ(c->items.size(), 1U);
                   EXPECT_FALSE(file.integer("d", 0, 5).has_value());
                   EXPECT_FALSE(file.word("e", {"one", "two"}).has_value());
                   auto t = file.table("t");
                   ASSERT_TRUE(t.has_value());
                   EXPECT_FALSE(t->boolean("right").has_value());
                   t->finish();
                 }),
            "1:5 a should be a string, is an integer\n"
            "2:5 b should be an integer, is a string\n"
            "3:6 c should be a list of strings, this is an integer\n"
            "3:14 c should be a list of strings, this is a boolean\n"
            "4:5 d should be between 0 and 5, is 9\n"
            "5:5 e should be one of one, two, is \"odd\"\n"
            "6:2 unknown key \"typo\"; there are a, b, c, d, e, t\n"
            "9:1 unknown key \"wrong\" in t; there are right\n");
}

TEST(Table, ListsAreBounded) {
  EXPECT_EQ(said("a = ['x', 'x', 'x']\n[[t]]\n[[t]]\n",
                 [](Table& file) {
                   EXPECT_FALSE(file.texts("a", 2).has_value());
                   EXPECT_TRUE(file.tables("t", 1).empty());
                 })
                .substr(0, 28),
            "1:5 a has more than 2 items\n");
  EXPECT_EQ(said("a = ['x', 'x']\n", [](Table& file) { EXPECT_TRUE(file.texts("a", 2).has_value()); }), "");
}

TEST(Table, TablesOfAListAndWhatTheyNeed) {
  EXPECT_EQ(said("[[t]]\nx = 1\n[[t]]\n",
                 [](Table& file) {
                   for (Table& table : file.tables("t", 5)) {
                     table.need("x");
                     (void)table.integer("x", 0, 9);
                     table.finish();
                   }
                 }),
            "3:1 [[t]] has no x\n");
  EXPECT_EQ(said("t = [1]\n", [](Table& file) { EXPECT_TRUE(file.tables("t", 5).empty()); }),
            "1:6 t should be a list of tables, this is an integer\n");
  EXPECT_EQ(said("[t]\n", [](Table& file) { EXPECT_TRUE(file.tables("t", 5).empty()); }),
            "1:1 t should be a list, is a table\n");
}

TEST(Table, KeysThatAreDataAreNotUnknown) {
  EXPECT_EQ(said("[d]\n'x y' = 1\nz = ['a']\n",
                 [](Table& file) {
                   auto table = file.table("d");
                   ASSERT_TRUE(table.has_value());
                   ASSERT_EQ(table->entries().size(), 2U);
                   EXPECT_EQ(table->entries()[0].key.text, "x y");
                   const auto one = one_or_more_texts(table->entries()[1].value, "d", 5, table->mistakes());
                   ASSERT_TRUE(one.has_value());
                   EXPECT_EQ(one->items[0].text, "a");
                   EXPECT_FALSE(
                       one_or_more_texts(table->entries()[0].value, "d", 5, table->mistakes()).has_value());
                   table->finish();
                 }),
            "2:9 d should be a string or a list of strings, is an integer\n");
}

}  // namespace
}  // namespace casemate::toml
