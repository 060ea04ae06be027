#include "schema/check.h"

#include <utility>
#include <vector>

#include "schema/test_support.h"

namespace casemate::schema {
namespace {

constexpr std::string_view kPayment = R"({
  "type": "object",
  "properties": {
    "items": {"type": "array", "items": {"type": "object", "properties": {
      "amount": {"type": "number", "minimum": 0, "multipleOf": 0.01}, "currency": {"enum": ["EUR", "USD", "CHF"]}},
      "required": ["amount"], "additionalProperties": false}},
    "to": {"type": "string", "minLength": 3, "pattern": "^[a-z]+@"}
  },
  "required": ["items", "to"], "additionalProperties": false})";

TEST(Messages, SayWhatShouldBeAndWhatIs) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"({"items":[{"amount":1.25,"currency":"EUR"}],"to":"ann@example.com"})", ""},
      {R"({"items":[{"amount":1},{"amount":2},{"amount":3},{"amount":"four"}],"to":"ann@x"})",
       R"(/items/3/amount: should be a number, is the string "four")"},
      {R"({"items":[{"amount":"4.50"}],"to":"ann@x"})",
       R"(/items/0/amount: should be a number, is the string "4.50": write it without quotes)"},
      {R"({"items":[{"amonut":1}],"to":"ann@x"})",
       "/items/0: lacks \"amount\", which is required: a number\n"
       "/items/0: has \"amonut\", which is no property here; did you mean \"amount\"?"},
      {R"({"items":[{"amount":-0.001}],"to":"ann@x"})",
       "/items/0/amount: should be at least 0, is -0.001\n"
       "/items/0/amount: should be a multiple of 0.01, is -0.001"},
      {R"({"items":[{"amount":1,"currency":"eur"}],"to":"ann@x"})",
       R"(/items/0/currency: should be one of "EUR", "USD", "CHF", is the string "eur")"},
      {R"({"items":{},"to":"A"})",
       "/items: should be an array, is an object\n"
       "/to: should have at least 3 characters, has 1\n"
       "/to: should match the pattern \"^[a-z]+@\", is \"A\""},
      {R"({"items":[],"to":"ann@x","memo":1})",
       R"(has "memo", which is no property here; there are "items" and "to")"},
      {"null", "should be an object, is null"},
  };
  const Schema schema = schema_of(kPayment);
  for (const auto& [value, said] : cases) EXPECT_EQ(faults_of(schema, value), said) << value;
}

struct Case {
  std::string_view schema;
  std::string_view value;
  std::string_view said;
};

TEST(Messages, OfEveryKeyword) {
  const std::vector<Case> cases = {
      {R"({"type":["string","null"]})", "1", "should be a string or null, is the number 1"},
      {R"({"type":"integer"})", "1.5", "should be an integer, is the number 1.5"},
      {R"({"type":"integer"})", "1.0", ""},
      {R"({"const":{"a":1}})", R"({"a":2})", "should be an object of 1, is an object"},
      {R"({"const":{"a":1,"b":[2]}})", R"({"b":[2.0],"a":1e0})", ""},
      {R"({"enum":[1,2,3,4,5,6,7]})", "8", "should be one of 1, 2, 3, 4, 5 and 2 others, is the number 8"},
      {R"({"enum":[]})", "8", "should be nothing, is the number 8"},
      {R"({"exclusiveMinimum":0})", "0", "should be above 0, is 0"},
      {R"({"exclusiveMaximum":1e2})", "100", "should be below 1e2, is 100"},
      {R"({"maximum":9007199254740992})", "9007199254740993",
       "should be at most 9007199254740992, is 9007199254740993"},
      {R"({"maxLength":2})", R"("ééé")", "should have at most 2 characters, has 3"},
      {R"({"maxLength":2})", R"("𝄞𝄞")", ""},
      {R"({"format":"decimal"})", R"("12.50")", ""},
      {R"({"format":"decimal"})", "12.50", ""},
      {R"({"format":"decimal"})", "[]", ""},
      {R"({"format":"decimal"})", R"("12,50")",
       "should spell an exact decimal, such as \"12.50\", is the string \"12,50\""},
      {R"({"format":"decimal"})", R"("NaN")",
       "should spell an exact decimal, such as \"12.50\", is the string \"NaN\""},
      {R"({"format":"decimal"})", R"("1e9999999999")",
       "should spell an exact decimal, such as \"12.50\", is the string \"1e9999999999\""},
      {R"({"format":"email"})", R"("no")", ""},
      {R"({"minItems":2})", "[1]", "should have at least 2 items, has 1"},
      {R"({"minItems":1})", "[]", "should have at least 1 item, has 0"},
      {R"({"maxItems":1})", "[1,2]", "should have at most 1 item, has 2"},
      {R"({"uniqueItems":true})", R"([{"a":1,"b":2},3,{"b":2.0,"a":1}])",
       "each item should be another: 0 and 2 are the same (an object of 2)"},
      {R"({"uniqueItems":true})", "[0,false,null,\"0\",[],{},\"\"]", ""},
      {R"({"contains":{"type":"string"}})", "[1]",
       "should contain at least 1 item like a string, contains 0"},
      {R"({"contains":{"const":1},"minContains":2})", "[1,2]",
       "should contain at least 2 items like 1, contains 1"},
      {R"({"contains":{"const":1},"maxContains":1})", "[1,1]",
       "should contain at most 1 item like 1, contains 2"},
      {R"({"prefixItems":[{"type":"string"}],"items":false})", "[\"a\",1]",
       "/1: should not be there: no value is allowed"},
      {R"({"minProperties":2})", R"({"a":1})", "should have at least 2 properties, has 1"},
      {R"({"maxProperties":1})", R"({"a":1,"b":2})", "should have at most 1 property, has 2"},
      {R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})",
       R"(the name "abc" of a property should have at most 2 characters, has 3)"},
      {R"({"propertyNames":false})", R"({"abc":1})",
       R"(the name "abc" of a property should not be there: no value is allowed)"},
      {R"({"patternProperties":{"^n_":{"type":"number"}}})", R"({"n_a":"b","x":"y"})",
       R"(/n_a: should be a number, is the string "b")"},
      {R"({"additionalProperties":{"type":"number"},"properties":{"a":true}})", R"({"a":"b","x":"y"})",
       R"(/x: should be a number, is the string "y")"},
      {R"({"additionalProperties":false})", R"({"a":1})",
       R"(has "a", which is no property here; there are none)"},
      {R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})", R"(lacks "b", which "a" asks for)"},
      {R"({"dependentSchemas":{"a":{"required":["b"]}}})", R"({"a":1})", R"(lacks "b", which is required)"},
      {R"({"not":{"type":"string"}})", R"("a")", R"(should not be a string, is the string "a")"},
      {R"({"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":5}})", R"("a")",
       "should have at least 2 characters, has 1"},
      {R"({"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":5}})", "4",
       "should be at least 5, is 4"},
      {R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", "3",
       "should fit exactly one of 2 alternatives, fits those at 0 and 1: an integer, what its schema says"},
      {"false", "1", "should not be there: no value is allowed"},
      {R"({"properties":{"a":false}})", R"({"a":1})", "/a: should not be there: no value is allowed"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(faults_of(one.schema, one.value), one.said) << one.schema << " " << one.value;
}

TEST(Alternatives, TellOfTheOneThatWasMeant) {
  constexpr std::string_view kByType =
      R"({"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{"type":"integer"}}}]})";
  EXPECT_EQ(faults_of(kByType, R"({"a":"x"})"), R"(/a: should be an integer, is the string "x")");
  EXPECT_EQ(faults_of(kByType, "1"), "should be null or an object, is the number 1");
  constexpr std::string_view kByKind = R"({"oneOf":[
      {"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
      {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}]})";
  EXPECT_EQ(faults_of(kByKind, R"({"kind":"square","side":"2"})"),
            R"(/side: should be a number, is the string "2": write it without quotes)");
  EXPECT_EQ(faults_of(kByKind, R"({"kind":"square"})"), R"(lacks "side", which is required: a number)");
  EXPECT_EQ(
      faults_of(kByKind, R"({"kind":"line"})"),
      R"(should be an object with "kind" and "radius" or an object with "kind" and "side", is an object)");
  // In an array, at its place.
  EXPECT_EQ(faults_of(R"({"items":)" + std::string(kByKind) + "}",
                      R"([{"kind":"circle","radius":1},{"kind":"circle"}])"),
            R"(/1: lacks "radius", which is required: a number)");
}

TEST(Alternatives, QuietOnesLeaveNoFaults) {
  EXPECT_EQ(faults_of(R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", "1"), "");
  EXPECT_EQ(faults_of(R"({"not":{"required":["a"]}})", "{}"), "");
  EXPECT_EQ(faults_of(R"({"contains":{"type":"string"}})", R"([1,2,"x"])"), "");
  EXPECT_EQ(faults_of(R"({"if":{"required":["a"]},"then":{"required":["b"]}})", "{}"), "");
}

TEST(Recursion, GoesAsDeepAsTheValue) {
  constexpr std::string_view kTree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
      "value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["value"]}}})";
  std::string value = R"({"value":1,"next":null})";
  std::string wrong = R"({"value":"x"})";
  std::string place;
  for (int i = 0; i < 62; ++i) {
    value = R"({"value":1,"next":)" + value + "}";
    wrong = R"({"value":1,"next":)" + wrong + "}";
    place += "/next";
  }
  EXPECT_EQ(faults_of(kTree, value), "");
  EXPECT_EQ(faults_of(kTree, wrong), place + R"(/value: should be an integer, is the string "x")");
}

TEST(Report, IsBounded) {
  std::string many = "[0";
  for (int i = 0; i < 1000; ++i) many += ",0";
  const Schema schema = schema_of(R"({"items":{"type":"string"}})");
  const auto report = check(schema, value_of(many + "]"));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->faults.size(), kFaultsMax);
  EXPECT_TRUE(report->more);
  const auto two = check(schema, value_of("[0,0]"), {.faults_max = 2});
  EXPECT_EQ(two->faults.size(), 2U);
  EXPECT_FALSE(two->more);
  EXPECT_EQ(check(schema, value_of("[0,0,0]"), {.faults_max = 0})->faults.size(), 1U);
}

TEST(Report, TextOfOthersIsShownSafelyAndShort) {
  const std::string key = std::string(5000, 'k') + R"(\u001b[2J\n\u202e)";
  const std::string value = "{\"" + key + R"(":")" + std::string(5000, 'v') + R"(\n\u001b]0;x\u0007"})";
  for (const std::string_view schema :
       {R"({"additionalProperties":{"type":"number"}})", R"({"additionalProperties":false})",
        R"({"propertyNames":{"maxLength":1}})", R"({"additionalProperties":{"pattern":"^x"}})",
        R"({"additionalProperties":{"enum":["a\n\u001b[2J"]}})"}) {
    const auto report = check(schema_of(schema), value_of(value));
    ASSERT_TRUE(report.has_value());
    ASSERT_EQ(report->faults.size(), 1U);
    const std::string line = line_of(report->faults.front());
    EXPECT_LT(line.size(), 2000U);
    for (const char c : line) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << schema;
    EXPECT_EQ(line.find("\u202e"), std::string::npos);
  }
}

}  // namespace
}  // namespace casemate::schema
