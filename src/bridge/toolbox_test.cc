#include "bridge/toolbox.h"

#include <gtest/gtest.h>

#include <set>

#include "base/limits.h"
#include "json/reader.h"

namespace casemate::bridge {
namespace {

Toolbox box_of(const std::vector<std::string>& names) {
  std::vector<Tool> tools;
  for (const std::string& name : names) {
    tools.emplace_back();
    tools.back().capability.name = name;
  }
  return Toolbox::make(std::move(tools)).value();
}

TEST(Toolbox, FindsByNameAndBySpelling) {
  const Toolbox box = box_of({"git.delete-repo", "a.class", "ledger.read", "plain"});
  for (const auto& [said, name] :
       std::vector<std::pair<std::string, std::string>>{{"git.delete-repo", "git.delete-repo"},
                                                        {"git.delete_repo", "git.delete-repo"},
                                                        {"a.class_", "a.class"},
                                                        {"ledger.read", "ledger.read"},
                                                        {"plain", "plain"}}) {
    const Granted* found = box.find(said);
    ASSERT_NE(found, nullptr) << said;
    EXPECT_EQ(found->tool.capability.name, name);
  }
  EXPECT_EQ(box.find("git.delete"), nullptr);
  EXPECT_EQ(box.find(""), nullptr);
  EXPECT_EQ(box.catalog()->near("git.delete_rpo"), std::vector<std::string>{"git.delete-repo"});
}

TEST(Toolbox, NamesThatWouldBeSpelledAlikeAreToldApart) {
  const Toolbox box = box_of({"a.b-c", "a.b_c", "a-b.x", "a_b.x", "x.a.b"});
  std::set<std::string> paths;
  for (const Granted* granted : box.all()) {
    EXPECT_TRUE(paths.insert(granted->path).second) << granted->path;
    EXPECT_EQ(box.find(granted->path), granted);
    EXPECT_EQ(box.find(granted->tool.capability.name), granted);
  }
  EXPECT_EQ(paths.size(), 5U);
}

TEST(Toolbox, RefusesTwoOfOneName) {
  std::vector<Tool> tools(2);
  for (Tool& tool : tools) tool.capability.name = "a.b";
  EXPECT_FALSE(Toolbox::make(std::move(tools)));
}

TEST(TypedPlaces, AreFoundWhereValuesAre) {
  const auto places = [](const char* text) { return typed_places(json::read(text).value()); };
  using List = std::vector<std::string>;
  EXPECT_EQ(places(R"({"format":"decimal"})"), List{"decimal "});
  EXPECT_EQ(places(R"({"properties":{"rows":{"items":{"properties":{"a/b~":{"format":"decimal"}}}}}})"),
            List{"decimal /rows/*/a~1b~0"});
  EXPECT_EQ(
      places(
          R"({"prefixItems":[{},{"contentEncoding":"base64"}],"additionalProperties":{"format":"decimal"}})"),
      (List{"bytes /1", "decimal /*"}));
  EXPECT_EQ(places(R"({"$defs":{"m":{"format":"decimal"}},"anyOf":[{"$ref":"#/$defs/m"},{"type":"null"}]})"),
            List{"decimal "});
  EXPECT_EQ(places(R"({"$defs":{"n":{"items":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"})"), List{})
      << "no end";
  EXPECT_EQ(places("true"), List{});
  std::string many = R"({"properties":{)";
  for (int i = 0; i < 1000; ++i)
    many += (i > 0 ? "," : "") + ("\"p" + std::to_string(i)) + R"(":{"format":"decimal"})";
  EXPECT_LE(places((many + "}}").c_str()).size(), kTypedPlacesMax);
}

}  // namespace
}  // namespace casemate::bridge
