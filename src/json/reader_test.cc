#include "json/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::json {
namespace {

using namespace std::string_literals;

std::string message(std::string_view text, const ReadLimits& limits = {}) {
  const auto value = read(text, limits);
  return value ? "(no error)" : value.error().message;
}

// Of texts that hold one number or string.
std::string number_in(std::string_view text) {
  const auto value = read(text);
  return value ? std::string(*value->as_number_text()) : value.error().message;
}
std::string string_in(std::string_view text) {
  const auto value = read(text);
  return value ? std::string(*value->as_string()) : value.error().message;
}

// The value written again, in the order in which it was read.
void write(const Value& value, Writer& writer) {
  switch (value.kind()) {
    case Value::Kind::kNull: writer.null(); return;
    case Value::Kind::kBoolean: writer.value(*value.as_boolean()); return;
    case Value::Kind::kString: writer.value(*value.as_string()); return;
    case Value::Kind::kNumber:
      if (const auto small = value.as_int64()) {
        writer.value(*small);
      } else if (const auto large = value.as_uint64()) {
        writer.value(*large);
      } else {
        writer.value(*value.as_double());
      }
      return;
    case Value::Kind::kArray:
      writer.begin_array();
      for (const Value& item : value.items()) write(item, writer);
      writer.end_array();
      return;
    case Value::Kind::kObject:
      writer.begin_object();
      for (const Member& member : value.members()) {
        writer.key(member.key);
        write(member.value, writer);
      }
      writer.end_object();
      return;
  }
}

std::string written(const Value& value) {
  Writer writer;
  write(value, writer);
  return std::move(writer).take();
}

TEST(Reader, ReadsEveryKindOfValue) {
  const auto value = read(R"( {"a": [null, true, false, -1.5e3, "x\n"], "": {}, "b": []} )");
  ASSERT_TRUE(value.has_value()) << value.error().message;
  ASSERT_EQ(value->kind(), Value::Kind::kObject);
  ASSERT_EQ(value->members().size(), 3U);
  EXPECT_EQ(value->members()[0].key, "a");
  EXPECT_EQ(value->members()[1].key, "");
  const auto items = value->find("a")->items();
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[0].kind(), Value::Kind::kNull);
  EXPECT_TRUE(*items[1].as_boolean());
  EXPECT_FALSE(*items[2].as_boolean());
  EXPECT_EQ(*items[3].as_number_text(), "-1.5e3");
  EXPECT_EQ(*items[4].as_string(), "x\n");
  EXPECT_EQ(value->find("c"), nullptr);
  EXPECT_EQ(items[0].find("a"), nullptr);
}

TEST(Reader, WhatTheWriterWritesComesBack) {
  const std::vector<std::string> texts = {
      R"({"z":1,"a":"text","list":[true,false,null,{},[]],"last":0.5})",
      "[-9223372036854775808,18446744073709551615,7,-1,1.5,1e+300,0.1,-0]",
      R"(["","\u0000\u001b\"\\/","é€𝄞","\n\t"])",
      R"("alone")",
      "null",
      R"({"":{"":{"":[[[]]]}}})",
  };
  for (const std::string& text : texts) {
    const auto once = read(text);
    ASSERT_TRUE(once.has_value()) << text << ": " << once.error().message;
    const auto twice = read(written(*once));
    ASSERT_TRUE(twice.has_value()) << text << ": " << twice.error().message;
    EXPECT_EQ(written(*once), written(*twice));
  }
  EXPECT_EQ(written(*read(texts[0])), texts[0]);
  EXPECT_EQ(written(*read(texts[5])), texts[5]);
}

TEST(Reader, PrettyTextSaysTheSame) {
  Writer writer(Writer::Style::kPretty);
  writer.begin_object().field("a", 1).key("b").begin_array().value("x").null().end_array().end_object();
  EXPECT_EQ(written(*read(std::move(writer).take())), R"({"a":1,"b":["x",null]})");
}

const std::vector<std::string> kNotJson = {"",
                                           " ",
                                           "01",
                                           "-01",
                                           "-",
                                           "1.",
                                           ".5",
                                           "1e",
                                           "1e+",
                                           "1.e1",
                                           "+1",
                                           "0x10",
                                           "1_000",
                                           "NaN",
                                           "nan",
                                           "Infinity",
                                           "-Infinity",
                                           "inf",
                                           "True",
                                           "nul",
                                           "nulll",
                                           "'a'",
                                           "\"a",
                                           "a",
                                           "[1,]",
                                           "[,1]",
                                           "[1 2]",
                                           "[",
                                           "]",
                                           "[}",
                                           "{",
                                           "{\"a\"}",
                                           "{\"a\":}",
                                           "{\"a\":1,}",
                                           "{a:1}",
                                           "{1:1}",
                                           "{\"a\" 1}",
                                           "{\"a\":1 \"b\":2}",
                                           "{,}",
                                           "// c\n1",
                                           "/* c */1",
                                           "1 // c",
                                           "1#",
                                           "\"\\x41\"",
                                           "\"\\u12\"",
                                           "\"\\u12g4\"",
                                           "\"\\\"",
                                           "\"a\nb\"",
                                           "\"\t\"",
                                           "\"\x1f\"",
                                           "1 2",
                                           "{}{}",
                                           "[]]",
                                           "null,",
                                           "\xef\xbb\xbf"
                                           "1",
                                           "1\0"s,
                                           "\0"s,
                                           "[1,\0]"s,
                                           "\"a\0b\""s,
                                           "1\v",
                                           "1\xc2\xa0",
                                           "1e5x",
                                           "1e400e1",
                                           "1-2",
                                           "1e1-2",
                                           "--1",
                                           "-\"a\""};

TEST(Reader, RefusesWhatIsNotJson) {
  for (const std::string& text : kNotJson) {
    const auto value = read(text);
    ASSERT_FALSE(value.has_value()) << one_line(text, 100);
    EXPECT_EQ(value.error().code, ErrorCode::kInvalid) << text;
    EXPECT_EQ(value.error().message.find('\n'), std::string::npos);
  }
}

TEST(Reader, SaysWhere) {
  EXPECT_EQ(message("{\n  \"a\": 1,\n  \"b\": tru\n}"), "line 3, column 11: no JSON value begins like this");
  EXPECT_EQ(message("[1,\n2] 3"), "line 2, column 4: nothing but white space may follow the value");
  EXPECT_EQ(message("[1 2]"), "line 1, column 4: a comma or ']' is due here");
  EXPECT_EQ(message(""), "line 1, column 1: a value is due here");
  EXPECT_EQ(message("1."), "line 1, column 3: a digit is due after the point");
  EXPECT_EQ(message("\n\n1e"), "line 3, column 3: a digit is due in the exponent");
}

TEST(Reader, RefusesAKeyThatComesTwice) {
  EXPECT_EQ(message(R"({"a":1,"b":2,"a":3})"),
            "line 1, column 16: the key that ends here comes twice in one object: \"a\"");
  EXPECT_NE(message(R"([{"x":{"k":1,"k":1}}])"), "(no error)");
  EXPECT_NE(message(R"({"a":1,"\u0061":2})"), "(no error)");  // the same key, spelled differently
  EXPECT_NE(message(R"({"":1,"":2})"), "(no error)");
  EXPECT_EQ(message(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})"), "(no error)");
  EXPECT_EQ(message(R"({"\u001b[31m":1,"\u001b[31m":2})").find('\x1b'), std::string::npos);
}

TEST(Reader, ManyKeysAreNoWorkToCompare) {
  std::string text = "{";
  for (int i = 0; i < 40'000; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(message(text + "}"), "(no error)");
  EXPECT_NE(message(text + ",\"7\":0}"), "(no error)");
}

TEST(Reader, RefusesBytesThatAreNotUtf8) {
  const std::vector<std::string> texts = {
      "\"\xff\"",     "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
      "\"\xe2\x82\"", "\"\xe2\x82",   "{\"\xff\":1}",     "\x80",
      "1 \xff"};
  for (const std::string& text : texts) {
    EXPECT_NE(message(text).find("this is not UTF-8"), std::string::npos) << message(text);
  }
}

TEST(Reader, RefusesHalvesOfPairs) {
  const std::vector<std::string> texts = {
      R"("\ud800")",       R"("\udc00")",       R"("\ud800x")",
      R"("\ud800\n")",     R"("\ud800\ud800")", R"("\udc00\ud800")",
      R"("\ud800\u0041")", R"({"\udfff":1})",   R"("\ud834\udd1e\udd1e")"};
  for (const std::string& text : texts) {
    EXPECT_NE(message(text).find("half of a surrogate pair"), std::string::npos) << text << message(text);
  }
  EXPECT_EQ(string_in(R"("\ud834\udd1e")"), "\U0001d11e");
  EXPECT_EQ(string_in(R"("\u0000")"), "\0"s);
}

TEST(Reader, DepthIsBounded) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(message(nested(kReaderDepthMax)), "(no error)");
  EXPECT_EQ(message(nested(kReaderDepthMax + 1)),
            "line 1, column 65: more than 64 levels of arrays and objects");
  EXPECT_EQ(message(nested(3), {.depth_max = 3}), "(no error)");
  EXPECT_EQ(read(nested(4), {.depth_max = 3}).error().code, ErrorCode::kExhausted);
  // No caller can ask for more, and no text can make the reader recurse.
  EXPECT_NE(message(std::string(500'000, '['), {.depth_max = 1'000'000}), "(no error)");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(message(objects), "(no error)");
}

TEST(Reader, SizeAndNumberOfValuesAreBounded) {
  EXPECT_EQ(message("[1,2]", {.bytes_max = 5}), "(no error)");
  EXPECT_EQ(message("[1,2]", {.bytes_max = 4}), "line 1, column 5: the text has more than 4 bytes");
  EXPECT_EQ(message("[1,2]", {.values_max = 3}), "(no error)");
  EXPECT_EQ(message("[1,2]", {.values_max = 2}), "line 1, column 5: more than 2 values");
  EXPECT_EQ(message(R"({"a":1})", {.values_max = 3}), "(no error)");
  EXPECT_EQ(read(R"({"a":1})", {.values_max = 2}).error().code, ErrorCode::kExhausted);
}

TEST(Reader, NumbersKeepTheirText) {
  const std::string digits(1000, '7');
  const std::vector<std::string> texts = {"0",
                                          "-0",
                                          "1.50",
                                          "1E5",
                                          "1e+05",
                                          "-1.0e-7",
                                          "1e400",
                                          "-1e99999999999",
                                          "1e-99999999999",
                                          digits,
                                          "-" + digits,
                                          digits + ".5e3",
                                          "0." + digits,
                                          "9007199254740993"};
  for (const std::string& text : texts) {
    EXPECT_EQ(number_in(text), text);
    // In their places too: a long number before it, and behind it.
    const auto list = read("[1e400, " + text + ",\"1e400\", " + digits + " ]");
    ASSERT_TRUE(list.has_value()) << list.error().message;
    EXPECT_EQ(*list->items()[0].as_number_text(), "1e400");
    EXPECT_EQ(*list->items()[1].as_number_text(), text);
    EXPECT_EQ(*list->items()[2].as_string(), "1e400");
    EXPECT_EQ(*list->items()[3].as_number_text(), digits);
  }
}

TEST(Reader, IntegersFitExactlyOrNotAtAll) {
  const auto number = [](const std::string& text) { return Value::number(text); };
  EXPECT_EQ(*number("9223372036854775807").as_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*number("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*number("18446744073709551615").as_uint64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(*number("-0").as_int64(), 0);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "0.5"}) {
    EXPECT_FALSE(number(text).as_int64().has_value()) << text;
  }
  for (const char* text : {"18446744073709551616", "-1", "-0", "1.0", "1E0"}) {
    EXPECT_FALSE(number(text).as_uint64().has_value()) << text;
  }
  EXPECT_EQ(number("1.0").as_int64().error().message, "1.0 is not written as an integer");
  EXPECT_LT(number(std::string(5000, '9')).as_int64().error().message.size(), 200U);
}

TEST(Reader, DoublesAreFiniteAndIntegersAmongThemExact) {
  const auto number = [](const std::string& text) { return Value::number(text).as_double(); };
  EXPECT_EQ(*number("0.1"), 0.1);
  EXPECT_EQ(*number("1e308"), 1e308);
  EXPECT_EQ(*number("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(*number("0e-400"), 0.0);
  EXPECT_EQ(*number("0.000e5"), 0.0);
  EXPECT_TRUE(std::signbit(*number("-0")));
  EXPECT_EQ(*number("9007199254740992"), 9007199254740992.0);
  EXPECT_EQ(*number("99999999999999991611392"), 1e23);  // the double nearest to 1e23 is this
  for (const char* text : {"1e309", "-1e400", "1e-400", "0.1e-330", "9007199254740993", "-9007199254740993",
                           "100000000000000000000000"}) {
    EXPECT_FALSE(number(text).has_value()) << text;
  }
  EXPECT_FALSE(number(std::string(400, '1')).has_value());
}

TEST(Reader, AValueOfAnotherKindIsAnError) {
  const Value text = Value::string("x");
  EXPECT_EQ(text.as_int64().error().message, "should be a number, is a string");
  EXPECT_EQ(text.as_boolean().error().message, "should be a boolean, is a string");
  EXPECT_EQ(Value().as_string().error().message, "should be a string, is null");
  EXPECT_TRUE(text.items().empty());
  EXPECT_TRUE(text.members().empty());
}

}  // namespace
}  // namespace casemate::json
