#include "policy/condition.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/limits.h"
#include "json/reader.h"

namespace casemate::policy {
namespace {

// "true", "false", "unknown: why", or "offset: what" of a fault.
std::string says(std::string_view condition, std::string_view arguments) {
  std::size_t offset = 0;
  const auto parsed = Condition::parse(condition, 0, offset);
  if (!parsed) return std::to_string(offset) + ": " + parsed.error().message;
  const auto value = json::read(arguments);
  if (!value) return "arguments: " + value.error().message;
  const Answer answer = parsed->evaluate(*value);
  if (answer.truth == Truth::kUnknown) return "unknown: " + answer.why;
  return answer.truth == Truth::kTrue ? "true" : "false";
}

struct Row {
  const char* condition;
  const char* arguments;
  const char* says;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    EXPECT_EQ(says(row.condition, row.arguments), row.says) << row.condition << " of " << row.arguments;
}

TEST(Condition, ComparesNumbersExactly) {
  check({{"a > 100", R"({"a":100.000000000000000000001})", "true"},
         {"a > 100", R"({"a":100})", "false"},
         {"a >= 100", R"({"a":1e2})", "true"},
         {"a < 0.1", R"({"a":0.1})", "false"},
         {"a <= 0.1", R"({"a":"0.10"})", "true"},  // decimals cross as strings
         {"a == 9007199254740993", R"({"a":9007199254740992})", "false"},
         {"a != 1e400", R"({"a":1e400})", "false"},
         {"a>-5and a<5", R"({"a":-4.99})", "true"},
         {"a == -0", R"({"a":0})", "true"}});
}

TEST(Condition, WhatIsNoNumberIsUnknown) {
  check({{"a > 100", R"({"a":"many"})", "unknown: `a` is no number: \"many\" does not spell a number"},
         {"a > 100", R"({"a":null})", "unknown: `a` is no number: should be a number, is null"},
         {"a != 100", R"({"a":true})", "unknown: `a` is no number: should be a number, is a boolean"},
         {"a > 100", R"({"a":[200]})", "unknown: `a` is no number: should be a number, is an array"},
         {"a > 100", R"({"a":1e999999999})",
          "unknown: `a` is no number: a number has a digit more than 2000 places from its point"},
         {"a > 100", R"({"A":200})", "unknown: `a` is missing"},
         {"a > 100", R"([])", "unknown: `a` leads through an array where an object should be"}});
}

TEST(Condition, ACurrencyIsToAgree) {
  check({{"a > 100 EUR", R"({"a":101,"currency":"EUR"})", "true"},
         {"a > 100 EUR", R"({"a":1,"currency":"EUR"})", "false"},
         {"a > 100 EUR", R"({"a":1,"currency":"USD"})", "unknown: `currency` is not EUR"},
         {"a > 100 EUR", R"({"a":1,"currency":"eur"})", "unknown: `currency` is not EUR"},
         {"a > 100 EUR", R"({"a":1,"currency":5})", "unknown: `currency` should be a string, is a number"},
         {"a > 100 EUR", R"({"a":1})", "unknown: `currency` is missing"},
         {"a > 100EUR from p.unit", R"({"a":101,"p":{"unit":"EUR"},"currency":"USD"})", "true"},
         {"a > 100 EUR from p.unit", R"({"a":101,"currency":"EUR"})", "unknown: `p.unit` is missing"},
         {"p.a == 5 EUR", R"({"p":{"a":5,"currency":"EUR"}})", "true"},
         {"p.a == 5 EUR", R"({"p":{"a":5},"currency":"EUR"})", "unknown: `currency` is missing"},
         {"any l[*].a > 5 EUR", R"({"l":[{"a":9,"currency":"USD"},{"a":6,"currency":"EUR"}]})", "true"},
         {"all l[*].a > 5 EUR", R"({"l":[{"a":9,"currency":"USD"},{"a":6,"currency":"EUR"}]})",
          "unknown: `currency` is not EUR"},
         {"(currency == 'EUR' and a > 100 EUR) or (currency == 'USD' and a > 120 USD) or currency not in "
          "['EUR', 'USD']",
          R"({"a":50,"currency":"USD"})", "false"}});
}

TEST(Condition, ComparesStringsBooleansAndNull) {
  check({{"a == 'x'", R"({"a":"x"})", "true"},
         {"a == \"x\"", R"({"a":"X"})", "false"},
         {"a != 'x'", R"({"a":""})", "true"},
         {"a == ''", R"({"a":""})", "true"},
         {"a == ''", R"({"a":null})", "unknown: `a` should be a string, is null"},
         {"a == ''", R"({})", "unknown: `a` is missing"},
         {"a == 'it''s'", R"({"a":"it's"})", "true"},
         {"a == '100'", R"({"a":100})", "unknown: `a` should be a string, is a number"},
         {"a == true", R"({"a":true})", "true"},
         {"a != true", R"({"a":"true"})", "unknown: `a` should be a boolean, is a string"},
         {"a == null", R"({"a":null})", "true"},
         {"a == null", R"({"a":0})", "false"},
         {"a != null", R"({})", "unknown: `a` is missing"},
         {"a == 'x'", R"({"a":"x\u0000"})", "false"}});
}

TEST(Condition, GlobsAndLists) {
  check(
      {{"a ~ '*@example.com'", R"({"a":"b@example.com"})", "true"},
       {"a !~ '*@example.com'", R"({"a":"b@example.com"})", "false"},
       {"a !~ '*@example.com'", R"({"a":["b@example.com"]})", "unknown: `a` should be a string, is an array"},
       {"a !~ '*@example.com'", R"({})", "unknown: `a` is missing"},
       {"a in ['x', 'y']", R"({"a":"y"})", "true"},
       {"a not in ['x', 'y']", R"({"a":"z"})", "true"},
       {"a in [1, 2.0]", R"({"a":"2"})", "true"},
       {"a in ['1']", R"({"a":1})", "unknown: `a` should be a string, is a number"},
       {"a not in ['x']", R"({"a":null})", "unknown: `a` should be a string, is null"}});
}

TEST(Condition, PresenceIsDecidedByWhatIsMissing) {
  check({{"present(a)", R"({"a":null})", "true"},
         {"present(a)", R"({})", "false"},
         {"not present(a.b)", R"({"a":{}})", "true"},
         {"not present(a.b)", R"({})", "true"},
         {"not present(a.b)", R"({"a":"x"})",
          "unknown: `a.b` leads through a string where an object should be"},
         {"present(l[*])", R"({"l":[]})", "false"},
         {"present(l[*])", R"({"l":[null]})", "true"},
         {"present(l[*].a)", R"({"l":[{},{"a":1}]})", "true"},
         {"present(l[*])", R"({"l":{}})", "unknown: `l[*]` leads through an object where an array should be"},
         {"present(cc[*]) and any cc[*] !~ '*@x'", R"({"cc":[]})", "false"}});
}

TEST(Condition, PathsGoIntoObjectsAndLists) {
  check({{"to.address == 'x'", R"({"to":{"address":"x"}})", "true"},
         {"to.address == 'x'", R"({"to":"x"})",
          "unknown: `to.address` leads through a string where an object should be"},
         {"'odd key'.\"in\" == 1", R"({"odd key":{"in":1}})", "true"},
         {"any l[*] ~ 'a*'", R"({"l":["b","ab"]})", "true"},
         {"all l[*] ~ 'a*'", R"({"l":["b","ab"]})", "false"},
         {"all l[*] ~ 'a*'", R"({"l":["a","ab"]})", "true"},
         {"any l[*] ~ 'a*'", R"({"l":["b",3]})", "unknown: `l[*]` should be a string, is a number"},
         {"any l[*] ~ 'a*'", R"({"l":[3,"a"]})", "true"},
         {"all l[*] ~ 'a*'", R"({"l":[3,"b"]})", "false"},
         {"any l[*] !~ 'a*'", R"({"l":["a","b"]})", "true"},
         {"not any l[*] !~ 'a*'", R"({"l":["a","ab"]})", "true"},
         {"any l[*] == 1", R"({"l":[]})", "unknown: `l[*]` leads through an empty list"},
         {"all l[*] == 1", R"({"l":[]})", "unknown: `l[*]` leads through an empty list"},
         {"any l[*].m[*] == 3", R"({"l":[{"m":[1]},{"m":[2,3]}]})", "true"},
         {"any l[*][*] == 3", R"({"l":[[1],[2,3]]})", "true"}});
}

TEST(Condition, UnknownIsNeitherTrueNorFalse) {
  check({{"a == 1 and b == 2", R"({"a":1})", "unknown: `b` is missing"},
         {"a == 1 and b == 2", R"({"a":2})", "false"},
         {"a == 1 or b == 2", R"({"a":1})", "true"},
         {"a == 1 or b == 2", R"({"a":2})", "unknown: `b` is missing"},
         {"not b == 2", R"({})", "unknown: `b` is missing"},
         {"not not a == 1", R"({"a":1})", "true"},
         {"a == 1 or a == 1 and a == 2", R"({"a":1})", "true"},  // `and` binds closer
         {"(a == 1 or a == 1) and a == 2", R"({"a":1})", "false"},
         {"not a == 2 and a == 1", R"({"a":1})", "true"},
         {"b == 1 or c == 1", R"({})", "unknown: `b` is missing"}});
}

TEST(Condition, FaultsHaveAPlace) {
  check({{"", "{}", "0: the name of an argument is due here, not the end"},
         {"a", "{}", "1: a comparison is due here: <, <=, >, >=, ==, !=, ~, !~ or `in`, not the end"},
         {"a > 'x'", "{}", "4: a number is due here, not `'x'`"},
         {"a > 100 eur", "{}", "8: a currency is three capital letters, not `eur`"},
         {"a > 01", "{}", "4: \"01\" does not spell a number"},
         {"a == x", "{}", "5: a number, a string in quotes, true, false or null is due here, not `x`"},
         {"a ~ x", "{}", "4: a pattern in quotes is due here, not `x`"},
         {"a ~ '\\x'", "{}", "4: a backslash stands before *, ? or another backslash only"},
         {"a in []", "{}", "6: a string or a number is due here, not `]`"},
         {"a in [1, 'x']", "{}", "9: a list has either strings or numbers, not `'x'`"},
         {"a in [1", "{}", "7: `]` is due here, not the end"},
         {"a not 1", "{}", "6: `in` is due here, not `1`"},
         {"l[*] == 1", "{}", "0: a path with [*] needs `any` or `all` before it, not `l`"},
         {"any a == 1", "{}", "0: `any` and `all` go with a path that has [*], not `any`"},
         {"any l[*] > 1 EUR", "{}",
          "11: items of a list have no `currency` beside them: say `from` which path, not `1`"},
         {"a > 1 EUR from l[*]", "{}", "15: a currency is one value: no [*] here, not `l`"},
         {"a[0] == 1", "{}", "2: `*` is due here, not `0`"},
         {"a. == 1", "{}", "3: the name of an argument is due here, not `==`"},
         {"in == 1", "{}",
          "0: the name of an argument is due here; put one that is a word of conditions in quotes, not `in`"},
         {"(a == 1", "{}", "7: `)` is due here, not the end"},
         {"a == 1)", "{}", "6: nothing may follow here, not `)`"},
         {"a == 1 b == 2", "{}", "7: a currency is three capital letters, not `b`"},
         {"a == 'x", "{}", "5: the string that begins here does not end"},
         {"a == 1 & b == 2", "{}", "7: `&` means nothing here"},
         {"a = 1", "{}", "2: a comparison is due here: <, <=, >, >=, ==, !=, ~, !~ or `in`, not `=`"},
         {"a > 1e999999999", "{}", "4: a number has a digit more than 2000 places from its point"}});
}

TEST(Condition, IsBounded) {
  const auto repeated = [](std::string_view piece, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += piece;
    return text;
  };
  EXPECT_EQ(says(repeated("(", kConditionDepthMax - 1) + "a==1" + repeated(")", kConditionDepthMax - 1),
                 R"({"a":1})"),
            "true");
  EXPECT_NE(says(repeated("(", kConditionDepthMax) + "a==1" + repeated(")", kConditionDepthMax), "{}")
                .find("levels"),
            std::string::npos);
  EXPECT_NE(says(repeated("not ", 1000) + "a==1", "{}").find("levels"), std::string::npos);
  EXPECT_EQ(says(repeated("a==1 or ", kConditionTestsMax - 1) + "a==1", R"({"a":1})"), "true");
  EXPECT_NE(says(repeated("a==1 or ", kConditionTestsMax) + "a==1", "{}").find("tests"), std::string::npos);
  EXPECT_NE(says("a == '" + std::string(kPatternMax, 'x') + "'", "{}").find("bytes"), std::string::npos);
  EXPECT_NE(says("a" + repeated(".a", kArgumentPathMax) + " == 1", "{}").find("steps"), std::string::npos);
  EXPECT_NE(says("a in [" + repeated("1,", kConditionListMax) + "1]", "{}").find("at most"),
            std::string::npos);
}

TEST(Condition, LongArgumentsAreAnsweredAtOnce) {
  const auto begun = std::chrono::steady_clock::now();
  const std::string text(200'000, 'a');
  EXPECT_EQ(says("a ~ '*a*a*a*a*a*b*'", R"({"a":")" + text + R"("})"), "false");
  EXPECT_EQ(says("a > 5", R"({"a":)" + std::string(200'000, '9') + "}").substr(0, 8), "unknown:");
  EXPECT_EQ(says("a > 5", R"({"a":")" + text + R"("})").size(),
            says("a > 5", R"({"a":")" + text + R"("})").size());
  std::string list = "1";
  for (int i = 0; i < 49'000; ++i) list += ",1";
  EXPECT_EQ(says("all a[*] == 1 and any a[*] != 2", R"({"a":[)" + list + "]}"), "true");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

}  // namespace
}  // namespace casemate::policy
