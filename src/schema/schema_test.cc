#include "schema/schema.h"

#include <chrono>
#include <utility>
#include <vector>

#include "schema/place.h"
#include "schema/test_support.h"

namespace casemate::schema {
namespace {

TEST(Compile, SaysWhereAndWhatIsWrong) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"({"type":"strng"})",
       R"(/type: "strng" is no type: they are null, boolean, integer, number, string, array and object)"},
      {R"({"type":[]})", "/type: the list of types is empty: nothing would be valid"},
      {R"({"type":[7]})",
       "/type: a number is no type: they are null, boolean, integer, number, string, array and object"},
      {R"({"properties":{"a":{"minimum":"1"}}})",
       R"(/properties/a/minimum: "minimum" should be a number, is a string)"},
      {R"({"properties":{"a":5}})", "/properties/a: a schema is an object, true or false; this is a number"},
      {R"({"items":{"maxLength":-1}})",
       R"(/items/maxLength: "maxLength" should be an integer that is not negative)"},
      {R"({"maxItems":1.5})", R"(/maxItems: "maxItems" should be an integer that is not negative)"},
      {R"({"multipleOf":0})", R"(/multipleOf: "multipleOf" should be above zero)"},
      {R"({"multipleOf":1234567890123456789})", R"(/multipleOf: "multipleOf" may have 18 digits)"},
      {R"({"minimum":1e9999999999})", "/minimum: a number's exponent may be -999999999 to 999999999"},
      {R"({"required":"a"})", R"(/required: "required" should be an array, is a string)"},
      {R"({"required":["a","b","a"]})", R"(/required: "a" is named twice)"},
      {R"({"required":["a",1]})", "/required: each name here should be a string; there is a number"},
      {R"({"anyOf":[]})", R"(/anyOf: "anyOf" should have at least one schema)"},
      {R"({"not":[]})", "/not: a schema is an object, true or false; this is an array"},
      {R"({"enum":5})", R"(/enum: "enum" should be an array, is a number)"},
      {R"s({"pattern":"(?=a)"})s",
       R"s(/pattern: the pattern "(?=a)" cannot be used: at byte 0: looking ahead, "(?=" or "(?!", is not supported)s"},
      {R"({"patternProperties":{"[":true}})",
       R"(/patternProperties/[: the pattern "[" cannot be used: at byte 1: the class that begins with "[" does not end)"},
      {R"({"items":[{}]})",
       R"(/items: a list of schemas, one for each place, is "prefixItems" in draft 2020-12)"},
      {R"({"description":5})", R"(/description: "description" should be a string, is a number)"},
      {R"({"uniqueItems":1})", R"(/uniqueItems: "uniqueItems" should be a boolean, is a number)"},
      {"7", "a schema is an object, true or false; this is a number"},
  };
  for (const auto& [schema, said] : cases) EXPECT_EQ(faults_in(schema), said);
}

TEST(Compile, RefusesWhatItDoesNotKnow) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"({"unevaluatedProperties":false})",
       R"(/unevaluatedProperties: "unevaluatedProperties" is not supported: use "additionalProperties" in a schema that names all properties)"},
      {R"({"unevaluatedItems":false})",
       R"(/unevaluatedItems: "unevaluatedItems" is not supported: use "items" after "prefixItems")"},
      {R"({"$dynamicRef":"#a"})", R"(/$dynamicRef: "$dynamicRef" is not supported: use "$ref")"},
      {R"({"contentSchema":true})",
       R"(/contentSchema: "contentSchema" is not supported: what a string encodes is not looked at)"},
      {R"({"nullable":true})", R"(/nullable: "nullable" is not supported: use "type": [..., "null"])"},
      {R"({"maxLenght":3})",
       R"(/maxLenght: "maxLenght" is no keyword known here; did you mean "maxLength"?)"},
      {R"({"bogus":3})",
       R"(/bogus: "bogus" is no keyword known here: a name that begins with "x-" is passed over)"},
      {R"({"$schema":"https://json-schema.org/draft/2019-09/schema"})",
       R"(/$schema: only draft 2020-12 (https://json-schema.org/draft/2020-12/schema) and the part of draft-07 that it shares are known; this is "https://json-schema.org/draft/2019-09/schema")"},
      {R"({"$defs":{"a":{"$id":"b"}}})",
       R"(/$defs/a/$id: only the root may have an "$id": a part that is a document of its own is not supported)"},
  };
  for (const auto& [schema, said] : cases) EXPECT_EQ(faults_in(schema), said);
  EXPECT_EQ(
      faults_in(
          R"({"x-anything":{"type":7},"title":"t","description":"d","default":5,"examples":[1],"deprecated":true,
      "readOnly":true,"writeOnly":true,"$comment":"c","format":"email","contentEncoding":"base64","contentMediaType":"a/b",
      "$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/a","$defs":{},"definitions":{}})"),
      "");
}

TEST(Compile, TellsAllFaultsTogetherUpToABound) {
  EXPECT_EQ(faults_in(R"({"type":"x","items":{"minimum":null},"bogus":1})"),
            "/type: \"x\" is no type: they are null, boolean, integer, number, string, array and object\n"
            "/items/minimum: \"minimum\" should be a number, is null\n"
            "/bogus: \"bogus\" is no keyword known here: a name that begins with \"x-\" is passed over");
  std::string many = "{\"properties\":{\"p\":true";
  for (int i = 0; i < 1000; ++i) many += ",\"p" + std::to_string(i) + "\":{\"type\":\"y\"}";
  const auto compiled = Schema::compile(value_of(many + "}}"));
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().size(), kFaultsMax);
  EXPECT_TRUE(error_of(compiled.error()).message.ends_with("(and 31 more)"));
}

TEST(Compile, FollowsReferencesWithinTheDocument) {
  for (const std::string_view ref :
       {"#/$defs/a%20b~1c", "#/$defs/d", "#there", "https://example.com/a.json#there"}) {
    const std::string schema =
        R"({"$id":"https://example.com/a.json#","$ref":")" + std::string(ref) +
        R"(","$defs":{"a b/c":{"type":"integer"},"d":{"$anchor":"there","type":"integer"}}})";
    EXPECT_EQ(faults_of(schema, "1"), "") << ref;
    EXPECT_EQ(faults_of(schema, "\"x\""), "should be an integer, is the string \"x\"") << ref;
  }
  const std::vector<std::pair<std::string_view, std::string_view>> wrong = {
      {"#/$defs/nope", "leads to no schema in this document"},
      {"#nope", "leads to no schema in this document"},
      {"#/$defs", "leads to no schema in this document"},
      {"#/x-y", "leads to no schema in this document"},
      {"#/%2", "leads to no schema in this document"},
      {"other.json", "leads out of this document"},
      {"https://example.com/b.json", "leads out of this document"},
      {"https://example.com/a.jsonx", "leads out of this document"},
      {"file:///etc/passwd", "leads out of this document"},
  };
  for (const auto& [ref, said] : wrong) {
    const std::string message = faults_in(
        R"({"$id":"https://example.com/a.json","x-y":true,"$defs":{},"$ref":")" + std::string(ref) + "\"}");
    EXPECT_NE(message.find(said), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with("/$ref: ")) << message;
  }
  EXPECT_NE(faults_in(R"({"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}})").find("comes twice"),
            std::string::npos);
  EXPECT_NE(faults_in(R"({"$anchor":"0x"})").find("an anchor is"), std::string::npos);
}

TEST(Compile, RefusesCirclesForOneValueAndTakesThoseThatGoDown) {
  for (const std::string_view schema : {
           R"({"$ref":"#"})",
           R"({"allOf":[{"$ref":"#"}]})",
           R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[true,{"not":{"$ref":"#/$defs/a"}}]}}})",
           R"({"if":true,"then":{"$ref":"#"}})",
           R"({"dependentSchemas":{"a":{"$ref":"#"}}})",
       }) {
    EXPECT_NE(faults_in(schema).find("in a circle"), std::string::npos) << schema;
  }
  EXPECT_EQ(faults_in(R"({"properties":{"next":{"$ref":"#"}}})"), "");
  EXPECT_EQ(faults_in(R"({"items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}})"), "");
  EXPECT_EQ(faults_in(R"({"propertyNames":{"$ref":"#"}})"), "");
}

TEST(Compile, ChainsOfReferencesAreBounded) {
  const auto chain = [](std::size_t length) {  // of `length` schemas, the root included
    std::string text = R"({"$ref":"#/$defs/d2","$defs":{)";
    for (std::size_t i = 2; i < length; ++i) {
      text += "\"d" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"},";
    }
    return text + "\"d" + std::to_string(length) + "\":true}}";
  };
  EXPECT_EQ(faults_in(chain(kSchemaChainMax)), "");
  EXPECT_NE(faults_in(chain(kSchemaChainMax + 1)).find("more than 64"), std::string::npos);
  EXPECT_NE(faults_in(chain(20'000)).find("more than 64"), std::string::npos);
}

TEST(Compile, TakesThePartOfDraft07ThatMeansTheSame) {
  const std::string d07 = R"({"$schema":"http://json-schema.org/draft-07/schema#",)";
  EXPECT_EQ(
      faults_in(
          d07 +
          R"("type":"object","definitions":{"a":true},"properties":{"b":{"$ref":"#/definitions/a","description":"d"}}})"),
      "");
  EXPECT_EQ(faults_in(d07 + R"("prefixItems":[true]})"),
            R"(/prefixItems: "prefixItems" is no keyword of draft-07, which "$schema" names)");
  EXPECT_EQ(faults_in(d07 + R"("properties":{"b":{"$ref":"#","minLength":1}}})"),
            R"(/properties/b/$ref: draft-07 ignores "minLength" beside "$ref": put both into "allOf")");
  EXPECT_NE(faults_in(R"({"prefixItems":[true],"$schema":"http://json-schema.org/draft-07/schema"})"), "");
}

TEST(Compile, LargeSchemasAreBoundedAndQuick) {
  const auto start = std::chrono::steady_clock::now();
  std::string values = "{\"enum\":[0";
  for (int i = 1; i < 90'000; ++i) values += ",\"value " + std::to_string(i) + "\"";
  const Schema schema = schema_of(values + "]}");
  EXPECT_EQ(faults_of(schema, "\"value 89999\""), "");
  EXPECT_NE(faults_of(schema, "\"value 90000\""), "");
  for (int i = 0; i < 20'000; ++i) values += ",1";
  EXPECT_EQ(faults_in(values + "]}"), "the schema has too many values");
  std::string refs = "{\"$defs\":{\"d\":true";  // many references into one large object
  for (int i = 0; i < 12'000; ++i) refs += ",\"d" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/d\"}";
  EXPECT_EQ(faults_in(refs + "}}"), "");
  std::string patterns = "{\"patternProperties\":{\"p\":true";
  for (int i = 0; i < 256; ++i) patterns += ",\"p" + std::to_string(i) + "\":true";
  EXPECT_NE(faults_in(patterns + "}}").find("256 patterns"), std::string::npos);
  std::string large = "{\"allOf\":[true";
  for (int i = 0; i < 30; ++i) large += ",{\"pattern\":\"^.{" + std::to_string(300 + i) + "}$\"}";
  EXPECT_NE(faults_in(large + "]}").find("too large together"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Compile, KeepsNothingOfTheCallersDocument) {
  const auto schema = [] {
    const json::Value document = value_of(R"({"properties":{"a":{"enum":["x"]}},"required":["a"]})");
    return *Schema::compile(document);
  }();
  EXPECT_EQ(faults_of(schema, R"({"a":"y"})"), R"(/a: should be "x", is the string "y")");
  EXPECT_NE(schema.document().find("properties"), nullptr);
}

TEST(LineOf, IsOneSafeLine) {
  EXPECT_EQ(line_of({"/a", "type", "should be a number"}), "/a: should be a number");
  EXPECT_EQ(line_of({"", "type", "should be a number"}), "should be a number");
  EXPECT_EQ(line_of({"/a\nb\x1b[2J", "type", "m"}), "/a\\nb\\x1b[2J: m");
}

}  // namespace
}  // namespace casemate::schema
