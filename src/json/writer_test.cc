#include "json/writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "json/utf8.h"

namespace casemate::json {
namespace {

using namespace std::string_literals;

std::string written(std::string_view text) { return std::move(Writer().value(text)).take(); }

TEST(Writer, KeepsTheOrderOfCalls) {
  Writer writer;
  writer.begin_object().field("z", 1).field("a", "text").key("list").begin_array();
  writer.value(true).value(false).null().begin_object().end_object().begin_array().end_array().end_array();
  writer.field("last", 0.5).end_object();
  EXPECT_EQ(std::move(writer).take(), R"({"z":1,"a":"text","list":[true,false,null,{},[]],"last":0.5})");
}

TEST(Writer, PrettyIndents) {
  Writer writer(Writer::Style::kPretty);
  writer.begin_object().field("a", 1).key("b").begin_array().value(1).value("x").end_array();
  writer.key("c").begin_object().end_object().key("d").begin_array().end_array().end_object();
  EXPECT_EQ(std::move(writer).take(),
            "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    \"x\"\n  ],\n  \"c\": {},\n  \"d\": []\n}");
}

TEST(Writer, WritesNumbersExactly) {
  Writer writer;
  writer.begin_array();
  writer.value(std::numeric_limits<std::int64_t>::min()).value(std::numeric_limits<std::uint64_t>::max());
  writer.value(std::uint8_t{7}).value(-1).value(1.5).value(1e300).value(0.1).value(-0.0);
  writer.end_array();
  EXPECT_EQ(std::move(writer).take(), "[-9223372036854775808,18446744073709551615,7,-1,1.5,1e+300,0.1,-0]");
}

TEST(Writer, EscapesControlsAndKeepsCharacters) {
  EXPECT_EQ(written("q\" b\\ \n\r\t\b\f"), R"("q\" b\\ \n\r\t\b\f")");
  EXPECT_EQ(written("\0\x1b[0m\x7f"s), R"("\u0000\u001b[0m\u007f")");
  EXPECT_EQ(written("\u009b"), R"("\u009b")");
  EXPECT_EQ(written("\u4f60\u597d \U0001F600 /"), "\"\u4f60\u597d \U0001F600 /\"");
  EXPECT_EQ(written(""), "\"\"");
}

TEST(Writer, NeverWritesInvalidUtf8) {
  EXPECT_EQ(written("\xed\xa0\xbd"), "\"\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(written("a\xf0\x9f\x98"), "\"a\uFFFD\"");
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      Writer writer;
      writer.begin_object().field(bytes, bytes).end_object();
      ASSERT_TRUE(is_valid_utf8(std::move(writer).take())) << first << " " << second;
    }
  }
}

TEST(Writer, DepthIsBounded) {
  Writer writer;
  for (std::size_t i = 0; i < kWriterDepthMax; ++i) writer.begin_array();
  EXPECT_DEATH(writer.begin_array(), "CHECK");
  for (std::size_t i = 0; i < kWriterDepthMax; ++i) writer.end_array();
  EXPECT_EQ(std::move(writer).take().size(), 2 * kWriterDepthMax);
}

TEST(WriterDeathTest, MisuseIsABug) {
  EXPECT_DEATH(Writer().begin_object().value(1), "CHECK");                // no key
  EXPECT_DEATH(Writer().begin_array().key("k"), "CHECK");                 // a key in an array
  EXPECT_DEATH(Writer().key("k"), "CHECK");                               // a key outside
  EXPECT_DEATH(Writer().begin_object().key("k").key("l"), "CHECK");       // two keys
  EXPECT_DEATH(Writer().begin_object().key("k").end_object(), "CHECK");   // a key without a value
  EXPECT_DEATH(Writer().begin_object().end_array(), "CHECK");             // the wrong end
  EXPECT_DEATH(Writer().end_object(), "CHECK");                           // an end of nothing
  EXPECT_DEATH(Writer().value(1).value(2), "CHECK");                      // two values
  EXPECT_DEATH((void)std::move(Writer().begin_array()).take(), "CHECK");  // not whole
  EXPECT_DEATH(Writer().value(std::numeric_limits<double>::infinity()), "CHECK");
  EXPECT_DEATH(Writer().value(std::numeric_limits<double>::quiet_NaN()), "CHECK");
}

}  // namespace
}  // namespace casemate::json
