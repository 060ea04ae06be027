// The official tests of JSON Schema, as Debian packages them: json-schema-test-suite 2.0, whose newest draft
// is 7. They are read twice, for what draft 2020-12 kept and with "$schema" naming draft-07.
// CASEMATE_SCHEMA_SUITE may name a folder with the tests of draft 2020-12 themselves (tests/draft2020-12 of
// the suite), for a run by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "schema/canonical.h"
#include "schema/test_support.h"

namespace casemate::schema {
namespace {

using json::Value;

constexpr const char* kDraft07 = "/usr/share/json-schema-test-suite/tests/draft7";

enum class Why {
  kRefused,  // the schema is outside of the subset: it must be refused when it is compiled
  kDiffers,  // the draft that is tested means something else by it than the one that is read
};

// A group of tests that is left out.
struct Outside {
  std::string_view file;
  std::string_view group;  // its description
  Why why = Why::kRefused;
  std::string_view reason;
};

constexpr std::string_view kNoKeyword = "a keyword that 2020-12 no longer has";
constexpr std::string_view kOtherDocument = "refers to another document";
constexpr std::string_view kItemsList = "a list as \"items\"";
constexpr std::string_view kInnerId = "an \"$id\" below the root";

const std::vector<Outside> kBoth = {
    {"additionalItems.json", "additionalItems as schema", Why::kRefused, kNoKeyword},
    {"additionalItems.json", "items is schema, no additionalItems", Why::kRefused, kNoKeyword},
    {"additionalItems.json", "array of items with no additionalItems", Why::kRefused, kNoKeyword},
    {"additionalItems.json", "additionalItems as false without items", Why::kRefused, kNoKeyword},
    {"additionalItems.json", "additionalItems are allowed by default", Why::kRefused, kItemsList},
    {"definitions.json", "valid definition", Why::kRefused, kOtherDocument},
    {"definitions.json", "invalid definition", Why::kRefused, kOtherDocument},
    {"dependencies.json", "dependencies", Why::kRefused, kNoKeyword},
    {"dependencies.json", "dependencies with empty array", Why::kRefused, kNoKeyword},
    {"dependencies.json", "multiple dependencies", Why::kRefused, kNoKeyword},
    {"dependencies.json", "multiple dependencies subschema", Why::kRefused, kNoKeyword},
    {"dependencies.json", "dependencies with boolean subschemas", Why::kRefused, kNoKeyword},
    {"items.json", "an array of schemas for items", Why::kRefused, kItemsList},
    {"items.json", "items with boolean schemas", Why::kRefused, kItemsList},
    {"ref.json", "relative pointer ref to array", Why::kRefused, kItemsList},
    {"ref.json", "escaped pointer ref", Why::kRefused, "schemas below unknown keywords"},
    {"ref.json", "remote ref, containing refs itself", Why::kRefused, kOtherDocument},
    {"ref.json", "Recursive references between schemas", Why::kRefused, kInnerId},
    {"refRemote.json", "remote ref", Why::kRefused, kOtherDocument},
    {"refRemote.json", "fragment within remote ref", Why::kRefused, kOtherDocument},
    {"refRemote.json", "ref within remote ref", Why::kRefused, kOtherDocument},
    {"refRemote.json", "base URI change", Why::kRefused, kInnerId},
    {"refRemote.json", "base URI change - change folder", Why::kRefused, kInnerId},
    {"refRemote.json", "base URI change - change folder in subschema", Why::kRefused, kInnerId},
    {"refRemote.json", "root ref in remote ref", Why::kRefused, kOtherDocument},
};

// What the groups of draft 2020-12 that are refused are refused for.
const std::set<std::string, std::less<>> kOutOf202012 = {"unevaluatedItems",
                                                         "unevaluatedProperties",
                                                         "$dynamicRef",
                                                         "$dynamicAnchor",
                                                         "$vocabulary",
                                                         "$id",
                                                         "$ref",
                                                         "$schema",
                                                         "contentSchema",
                                                         "unknown-keyword",
                                                         "unrecognized-keyword"};

std::vector<Outside> with(std::vector<Outside> list, const std::vector<Outside>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::string text_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value != nullptr && value->as_string() ? std::string(*value->as_string()) : "";
}

// The same schema with "$schema" in front.
Value of_dialect(const Value& schema, std::string_view uri) {
  Value copied = std::move(*copy(schema, kSchemaValuesMax));
  if (uri.empty() || copied.kind() != Value::Kind::kObject || copied.find("$schema") != nullptr)
    return copied;
  std::vector<json::Member> members;
  members.push_back({"$schema", Value::string(std::string(uri))});
  for (const json::Member& member : copied.members()) {
    members.push_back({member.key, std::move(*copy(member.value, kSchemaValuesMax))});
  }
  return Value::object(std::move(members));
}

class SuiteRun {
 public:
  SuiteRun(std::vector<Outside> outside, std::string dialect)
      : outside_(std::move(outside)), dialect_(std::move(dialect)) {}

  void folder(const std::string& path) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    ASSERT_FALSE(files.empty()) << path;
    for (const std::string& name : files) file(name);
  }

  // Takes a refusal for any of kOutOf202012.
  void may_refuse() { may_refuse_ = true; }

  void file(const std::string& path) {
    const Value groups = value_of(content_of(path));
    for (const Value& one : groups.items()) group(std::filesystem::path(path).filename().string(), one);
  }

  // Every line of the list was of use.
  void finish(std::size_t tests_min) {
    for (const Outside& one : outside_) {
      EXPECT_TRUE(met_.contains(std::string(one.file) + one.group.data()))
          << one.file << ": " << one.group << ": not there";
    }
    std::printf("%zu tests held, %zu groups left out\n", tests_, met_.size());
    EXPECT_GE(tests_, tests_min);
  }

 private:
  void group(const std::string& file, const Value& group) {
    const std::string description = text_at(group, "description");
    SCOPED_TRACE(file + ": " + description);
    const auto outside = std::find_if(outside_.begin(), outside_.end(), [&](const Outside& one) {
      return one.file == file && one.group == description;
    });
    const auto schema = Schema::compile(of_dialect(*group.find("schema"), dialect_));
    if (outside != outside_.end()) {
      met_.insert(file + description);
      EXPECT_EQ(schema.has_value(), outside->why == Why::kDiffers);
      return;
    }
    if (!schema && may_refuse_ && kOutOf202012.contains(schema.error().front().keyword)) {
      met_.insert(file + description);
      return;
    }
    ASSERT_TRUE(schema.has_value()) << error_of(schema.error()).message;
    for (const Value& test : group.find("tests")->items()) {
      const auto report = check(*schema, *test.find("data"));
      ASSERT_TRUE(report.has_value()) << report.error().message;
      const bool valid = *test.find("valid")->as_boolean();
      EXPECT_EQ(report->faults.empty(), valid) << text_at(test, "description");
      ++tests_;
    }
  }

  std::vector<Outside> outside_;
  std::string dialect_;
  bool may_refuse_ = false;
  std::set<std::string> met_;
  std::size_t tests_ = 0;
};

TEST(Suite, OfDraft07) {
  SuiteRun run(with(kBoth, {{"ref.json", "ref overrides any sibling keywords", Why::kRefused,
                             "draft-07 ignores them"}}),
               "http://json-schema.org/draft-07/schema#");
  run.folder(kDraft07);
  run.file(std::string(kDraft07) + "/optional/bignum.json");
  run.finish(300);
}

TEST(Suite, OfDraft07ReadAs202012) {
  SuiteRun run(with(kBoth, {{"ref.json", "ref overrides any sibling keywords", Why::kDiffers,
                             "2020-12 applies both"}}),
               "");
  run.folder(kDraft07);
  run.finish(300);
}

TEST(Suite, OfDraft202012WhereItIsGiven) {
  const char* path = std::getenv("CASEMATE_SCHEMA_SUITE");
  if (path == nullptr) return;
  SuiteRun run({}, "");
  run.may_refuse();
  run.folder(path);
  run.file(std::string(path) + "/optional/bignum.json");
  run.file(std::string(path) + "/optional/float-overflow.json");
  run.file(std::string(path) + "/optional/ecmascript-regex.json");
  run.file(std::string(path) + "/optional/non-bmp-regex.json");
  run.finish(700);
}

}  // namespace
}  // namespace casemate::schema
