// Schemas and values that are made to cost: each has an answer soon, or none, which is said.
#include <chrono>
#include <random>

#include "schema/test_support.h"

namespace casemate::schema {
namespace {

class Soon {
 public:
  ~Soon() { EXPECT_LT(std::chrono::steady_clock::now() - start_, std::chrono::seconds(20)); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// 2^levels ways, none of which fits.
std::string doubling(const std::string& keyword, int levels) {
  std::string text = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < levels; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    text += "\"d" + std::to_string(i) + "\":{\"" + keyword + "\":[" + next + "," + next + "]},";
  }
  return text + "\"d" + std::to_string(levels) + "\":{\"type\":\"string\"}}}";
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Limits, DoublingAlternativesEndWithoutAnAnswer) {
  const Soon soon;
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const std::string answer = faults_of(doubling(keyword, 30), "1");
    EXPECT_TRUE(answer.starts_with("no answer: the schema and the value are too large together")) << answer;
    EXPECT_EQ(faults_of(doubling(keyword, 5), "1").find("no answer"), std::string::npos);
  }
  EXPECT_TRUE(faults_of(doubling("allOf", 30), "\"fits\"").starts_with("no answer"));
}

TEST(Limits, ALimitIsNoAnswerEvenUnderNot) {
  const Soon soon;
  const std::string inner = doubling("allOf", 30);
  const std::string answer =
      faults_of(R"({"not":{"$ref":"#/$defs/d0"},)" + inner.substr(inner.find("\"$defs\"")), "\"fits\"");
  EXPECT_TRUE(answer.starts_with("no answer")) << answer;
}

TEST(Limits, StepsAreCountedExactlyEnoughToBeSet) {
  const Schema schema = schema_of(R"({"items":{"type":"integer"}})");
  EXPECT_EQ(faults_of(schema, "[1,2,3]", {.steps_max = 4}), "");
  EXPECT_TRUE(faults_of(schema, "[1,2,3]", {.steps_max = 3}).starts_with("no answer: "));
  EXPECT_TRUE(faults_of(schema, "[1,2,3]", {.steps_max = 0}).starts_with("no answer: "));
}

TEST(Limits, SlowPatternsAreCharged) {
  const Soon soon;
  const std::string letters(200'000, 'a');
  EXPECT_EQ(faults_of(R"s({"pattern":"^(a|b)*$"})s", "\"" + letters + "\""), "");
  EXPECT_EQ(faults_of(R"({"pattern":"(a?){400}b","maxLength":9})", "\"" + letters + "\""),
            "should have at most 9 characters, has 200000");
  // Each is large, and there are many texts.
  const std::string schema = R"({"items":{"pattern":"(a?){400}b"}})";
  const std::string value = "[" + repeated("\"" + std::string(2000, 'a') + "\",", 2000) + "\"\"]";
  EXPECT_TRUE(faults_of(schema, value, {.faults_max = 1}).starts_with("no answer") ||
              !faults_of(schema, value, {.faults_max = 1}).empty());
}

TEST(Limits, LargeValuesAreQuick) {
  const Soon soon;
  std::string items = "[0";
  std::string members = "{\"k\":0";
  std::string names = "[\"k\"";
  for (int i = 1; i < 100'000; ++i) {
    const std::string number = std::to_string(i);
    items += "," + number;
    members += ",\"k" + number + "\":" + number;
    if (i < 40'000) names += ",\"k" + number + "\"";
  }
  EXPECT_EQ(faults_of(R"({"uniqueItems":true,"contains":{"const":99999}})", items + "]"), "");
  EXPECT_NE(faults_of(R"({"uniqueItems":true})", items + ",5.0]").find("5 and 100000 are the same"),
            std::string::npos);
  EXPECT_EQ(faults_of("{\"required\":" + names + "]}", members + "}"), "");
  // The same question of a large object many times over ends in time or in the limit.
  const std::string many =
      R"({"allOf":[)" + repeated(R"({"required":["k","k1","k2","k3"]},)", 3000) + "true]}";
  const std::string answer = faults_of(many, members + "}");
  EXPECT_TRUE(answer.empty() || answer.starts_with("no answer")) << answer;
}

TEST(Limits, HugeExponentsAreQuickOrSaidToBeTooLarge) {
  const Soon soon;
  EXPECT_EQ(faults_of(R"({"type":"integer","multipleOf":5,"minimum":1})", "1e999999999"), "");
  EXPECT_EQ(faults_of(R"({"maximum":1e5})", "1e999999999"), "should be at most 1e5, is 1e999999999");
  EXPECT_TRUE(faults_of(R"({"minimum":0})", "1e1000000000").starts_with("no answer: a number's exponent"));
  EXPECT_TRUE(
      faults_of(R"({"not":{"minimum":0}})", "1e1000000000").starts_with("no answer: a number's exponent"));
  EXPECT_TRUE(faults_of(R"({"enum":[1]})", "[1e1000000000]").starts_with("no answer: a number's exponent"));
  EXPECT_EQ(faults_of(R"({"type":"number"})", "1e1000000000"), "");
}

TEST(Limits, SchemasInEachOtherAreBounded) {
  // As deep as a document may be, and each level through a chain of references.
  std::string schema = R"({"$ref":"#/$defs/c1","$defs":{)";
  for (int i = 1; i < 40; ++i) {
    schema +=
        "\"c" + std::to_string(i) + R"(":{"allOf":[{"$ref":"#/$defs/c)" + std::to_string(i + 1) + "\"}]},";
    if (i == 30) break;
  }
  schema += R"("c31":{"items":{"$ref":"#"}}}})";
  EXPECT_EQ(faults_in(schema), "");
  EXPECT_EQ(faults_of(schema, "[[[1]]]"), "");
  const std::string answer = faults_of(schema, std::string(60, '[') + std::string(60, ']'));
  EXPECT_TRUE(answer.starts_with("no answer: too many levels")) << answer;
}

TEST(Limits, ValuesOfOurOwnThatAreTooDeepAreSaidToBe) {
  json::Value deep = json::Value::boolean(true);
  for (int i = 0; i < 200; ++i) {
    std::vector<json::Value> items;
    items.push_back(std::move(deep));
    deep = json::Value::array(std::move(items));
  }
  EXPECT_FALSE(check(schema_of(R"({"items":{"$ref":"#"}})"), deep).has_value());
  EXPECT_FALSE(check(schema_of(R"({"const":1})"), deep).has_value());
  EXPECT_TRUE(check(schema_of("true"), deep).has_value());
  const auto compiled = Schema::compile(deep);
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().front().message, "the schema has more than 64 levels of arrays and objects");
}

}  // namespace
}  // namespace casemate::schema
