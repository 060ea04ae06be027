// Random schemas and values, judged by this library and by Debian's python3-jsonschema, which knows draft
// 2020-12. What is generated keeps to where the two may not differ: no numbers beyond a double, patterns that
// Python spells alike, none of them empty (to it "" matches no name of a property).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schema/test_support.h"

namespace casemate::schema {
namespace {

class Author {
 public:
  explicit Author(std::uint64_t seed) : engine_(seed) {}

  std::string value(int levels) {
    switch (below(levels > 0 ? 9 : 6)) {
      case 0: return "null";
      case 1: return below(2) == 0 ? "true" : "false";
      case 2: return number();
      case 3: return number();
      case 4:
      case 5: return '"' + word() + '"';
      case 6:
      case 7: return object(levels, [&] { return value(levels - 1); });
      default:
        return array(
            levels, [&] { return value(levels - 1); }, 0);
    }
  }

  std::string schema(int levels) {
    if (below(12) == 0) return below(4) == 0 ? "false" : "true";
    std::string text;
    std::set<std::string_view> used;
    for (std::size_t n = 1 + below(3); n > 0; --n) {
      const std::size_t which = below(levels > 0 ? kKeywords : kLeaves);
      const std::vector<std::string_view> names = more_names(which);
      if (std::any_of(names.begin(), names.end(), [&](auto name) { return used.contains(name); })) continue;
      used.insert(names.begin(), names.end());
      text += (text.empty() ? "" : ",") + keyword(which, levels);
    }
    return "{" + text + "}";
  }

  std::string root() {
    std::string text = schema(3);
    if (!text.starts_with('{')) return text;
    text.pop_back();
    return text + R"(,"$defs":{"a":)" + schema(1) +
           R"(,"b":{"type":["array","object","integer"],"items":{"$ref":"#/$defs/b"},)" +
           R"("additionalProperties":{"$ref":"#/$defs/b"}}}})";
  }

 private:
  static constexpr std::size_t kLeaves = 19;
  static constexpr std::size_t kKeywords = 38;

  // What else a keyword of keyword() writes, or what it shares a name with: no name may come twice.
  static std::vector<std::string_view> more_names(std::size_t which) {
    static const std::map<std::size_t, std::vector<std::string_view>> kNames = {
        {0, {"type"}},
        {1, {"type"}},
        {19, {"properties"}},
        {20, {"properties", "additional"}},
        {21, {"patterns"}},
        {22, {"patterns", "additional"}},
        {24, {"items"}},
        {25, {"prefix"}},
        {26, {"prefix", "items"}},
        {27, {"contains"}},
        {28, {"contains"}},
        {33, {"if"}},
        {34, {"if"}},
        {36, {"$ref"}},
        {37, {"$ref"}},
    };
    static const std::vector<std::string> kOwn = [] {
      std::vector<std::string> own;
      for (std::size_t i = 0; i < kKeywords; ++i) own.push_back(std::to_string(i));
      return own;
    }();
    const auto found = kNames.find(which);
    return found == kNames.end() ? std::vector<std::string_view>{kOwn[which]} : found->second;
  }

  std::size_t below(std::size_t n) { return engine_() % n; }
  std::string number() {
    static const std::vector<std::string> kNumbers = {"0",   "1",   "2",    "3",   "-1",  "10",
                                                      "0.5", "1.5", "2.25", "0.1", "0.3", "-2"};
    return kNumbers[below(kNumbers.size())];
  }
  std::string small() { return std::to_string(below(4)); }
  std::string word() {
    static const std::vector<std::string> kWords = {"", "a", "b", "ab", "aa", "abc", "ba", "é", "éa", "a1"};
    return kWords[below(kWords.size())];
  }
  std::string pattern() {
    static const std::vector<std::string> kPatterns = {"^a",       "b$",  "^a*$",  "[ab]{2}",
                                                       "^(a|b)+$", "^.$", "[0-9]", "^[^a]"};
    return kPatterns[below(kPatterns.size())];
  }
  std::string type() {
    static const std::vector<std::string> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "array",   "object"};
    return '"' + kTypes[below(kTypes.size())] + '"';
  }
  template <typename Make>
  std::string object(int, Make make) {
    static const std::vector<std::string> kKeys = {"a", "b", "ab", "c", "é"};
    std::string text;
    for (const std::string& key : kKeys) {
      if (below(3) == 0) text += (text.empty() ? "\"" : ",\"") + key + "\":" + make();
    }
    return "{" + text + "}";
  }
  template <typename Make>
  std::string array(int, Make make, std::size_t least) {
    std::string text;
    for (std::size_t n = least + below(4); n > 0; --n) text += (text.empty() ? "" : ",") + make();
    return "[" + text + "]";
  }
  std::string names() { return below(2) == 0 ? R"(["a"])" : R"(["b","ab"])"; }

  std::string keyword(std::size_t which, int levels) {
    const auto deeper = [&] { return schema(levels - 1); };
    switch (which) {
      case 0: return "\"type\":" + type();
      case 1: return "\"type\":[" + type() + ",\"string\"" + "]";
      case 2:
        return "\"enum\":" + array(
                                 1, [&] { return value(1); }, 1);
      case 3: return "\"const\":" + value(1);
      case 4: return "\"minimum\":" + number();
      case 5: return "\"maximum\":" + number();
      case 6: return "\"exclusiveMinimum\":" + number();
      case 7: return "\"exclusiveMaximum\":" + number();
      case 8: return std::string("\"multipleOf\":") + (below(2) == 0 ? "0.1" : below(2) == 0 ? "1.5" : "2");
      case 9: return "\"minLength\":" + small();
      case 10: return "\"maxLength\":" + small();
      case 11: return "\"pattern\":\"" + pattern() + "\"";
      case 12: return "\"minItems\":" + small();
      case 13: return "\"maxItems\":" + small();
      case 14: return "\"uniqueItems\":true";
      case 15: return "\"minProperties\":" + small();
      case 16: return "\"maxProperties\":" + small();
      case 17: return "\"required\":" + names();
      case 18: return "\"dependentRequired\":{\"a\":" + names() + "}";
      case 19: return "\"properties\":" + object(levels, deeper);
      case 20: return "\"properties\":" + object(levels, deeper) + ",\"additionalProperties\":" + deeper();
      case 21: return "\"patternProperties\":{\"" + pattern() + "\":" + deeper() + "}";
      case 22:
        return "\"patternProperties\":{\"" + pattern() + "\":" + deeper() +
               "},\"additionalProperties\":false";
      case 23: return "\"propertyNames\":" + deeper();
      case 24: return "\"items\":" + deeper();
      case 25: return "\"prefixItems\":" + array(levels, deeper, 1);
      case 26: return "\"prefixItems\":" + array(levels, deeper, 1) + ",\"items\":" + deeper();
      case 27: return "\"contains\":" + deeper();
      case 28:
        return "\"contains\":" + deeper() + ",\"minContains\":" + small() + ",\"maxContains\":" + small();
      case 29: return "\"allOf\":" + array(levels, deeper, 1);
      case 30: return "\"anyOf\":" + array(levels, deeper, 1);
      case 31: return "\"oneOf\":" + array(levels, deeper, 1);
      case 32: return "\"not\":" + deeper();
      case 33: return "\"if\":" + deeper() + ",\"then\":" + deeper() + ",\"else\":" + deeper();
      case 34: return "\"if\":" + deeper() + ",\"else\":" + deeper();
      case 35: return "\"dependentSchemas\":{\"b\":" + deeper() + "}";
      case 36: return R"("$ref":"#/$defs/a")";
      default: return R"("$ref":"#/$defs/b")";
    }
  }

  std::mt19937_64 engine_;
};

// Reads lines of [schema, [value…]] and prints a line of 0 and 1 for each. Decimals, so that 0.3 is three
// times 0.1.
constexpr std::string_view kJudge = R"PY(
import decimal, json, sys
import jsonschema

def is_integer(checker, instance):
    if isinstance(instance, bool):
        return False
    return isinstance(instance, int) or isinstance(instance, decimal.Decimal) and instance == int(instance)

def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b

# Its own takes [0] for [false].
def enum(validator, values, instance, schema):
    if not any(same(value, instance) for value in values):
        yield jsonschema.ValidationError("enum")

base = jsonschema.Draft202012Validator
types = base.TYPE_CHECKER.redefine("integer", is_integer)
Validator = jsonschema.validators.extend(base, validators={"enum": enum}, type_checker=types)
for line in open(sys.argv[1], encoding="utf-8"):
    schema, values = json.loads(line, parse_float=decimal.Decimal)
    validator = Validator(schema)
    print("".join("1" if validator.is_valid(value) else "0" for value in values))
)PY";

TEST(Opinion, OfAnotherValidatorIsTheSame) {
  const char* asked = std::getenv("CASEMATE_SCHEMA_SEEDS");
  const std::uint64_t seeds = asked == nullptr ? 3000 : std::strtoull(asked, nullptr, 10);
  constexpr int kValues = 10;
  std::string lines;
  std::string ours;
  std::size_t valid = 0;
  std::vector<std::string> schemas;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Author author(seed);
    const std::string schema = author.root();
    const auto compiled = Schema::compile(value_of(schema));
    if (!compiled) {  // a circle, which the generator can make
      ASSERT_NE(error_of(compiled.error()).message.find("circle"), std::string::npos) << schema;
      continue;
    }
    std::string values;
    for (int i = 0; i < kValues; ++i) {
      const std::string value = author.value(3);
      const auto report = check(*compiled, value_of(value));
      ASSERT_TRUE(report.has_value()) << schema << " " << value;
      ours += report->faults.empty() ? '1' : '0';
      if (report->faults.empty()) ++valid;
      values += (i > 0 ? "," : "") + value;
    }
    ours += '\n';
    schemas.push_back(schema + "   [" + values + "]");
    lines += "[" + schema + ",[" + values + "]]\n";
  }
  const ScratchFile judge("judge.py", kJudge);
  const ScratchFile questions("questions", lines);
  const std::string theirs = output_of("/usr/bin/python3 " + judge.path() + " " + questions.path());
  ASSERT_EQ(theirs.size(), ours.size()) << theirs.substr(0, 1000);
  int shown = 0;
  for (std::size_t i = 0; i < schemas.size() && shown < 5; ++i) {
    const std::size_t at = i * (kValues + 1);
    if (ours.substr(at, kValues) == theirs.substr(at, kValues)) continue;
    ++shown;
    ADD_FAILURE() << schemas[i] << "\nours   " << ours.substr(at, kValues) << "\ntheirs "
                  << theirs.substr(at, kValues);
  }
  std::printf("%zu schemas, %zu values each valid of %zu\n", schemas.size(), valid, schemas.size() * kValues);
  EXPECT_GT(valid, schemas.size());
  EXPECT_LT(valid, schemas.size() * (kValues - 1));
}

}  // namespace
}  // namespace casemate::schema
