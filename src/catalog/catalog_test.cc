#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "json/reader.h"

namespace casemate::catalog {
namespace {

std::optional<schema::Schema> schema_of(std::string_view text) {
  const auto document = json::read(text);
  EXPECT_TRUE(document.has_value()) << text;
  auto compiled = schema::Schema::compile(*document);
  EXPECT_TRUE(compiled.has_value()) << text;
  return *compiled;
}

Capability capability(std::string name, std::string description, std::string_view parameters = "{}") {
  Capability one;
  one.name = std::move(name);
  one.description = std::move(description);
  one.parameters = schema_of(parameters);
  return one;
}

std::vector<Capability> some() {
  std::vector<Capability> all;
  all.push_back(capability(
      "ledger.read", "Reads the ledger of one tenant.",
      R"({"properties":{"tenant":{"type":"string"},"since":{"type":"string","description":"earliest posting date"}},"required":["tenant"]})"));
  all.push_back(capability("ledger.list_accounts", "Lists accounts.\nPages of 100."));
  all.push_back(capability("settlement.read", "Reads what was settled for a tenant.",
                           R"({"properties":{"tenant":{"type":"string"}}})"));
  all.push_back(capability("mail.send", "Sends one message.",
                           R"({"properties":{"to":{"type":"string"},"subject":{"type":"string"}}})"));
  all.push_back(capability("mail.read_inbox", "Reads messages, newest first."));
  all.push_back(capability("github.createPullRequest", "Opens a pull request.",
                           R"({"properties":{"base_branch":{"type":"string"}}})"));
  all.push_back(capability("github.merge", "Merges a pull request into its base."));
  all.push_back(capability("weather.now", "Tells the weather."));
  return all;
}

Catalog catalog_of(std::vector<Capability> all) {
  auto catalog = Catalog::make(std::move(all));
  EXPECT_TRUE(catalog.has_value()) << catalog.error().message;
  return std::move(*catalog);
}

std::vector<std::string> names(const std::vector<Found>& found) {
  std::vector<std::string> all;
  for (const Found& one : found) all.push_back(one.name);
  return all;
}
using Names = std::vector<std::string>;

TEST(Search, RanksByWhatMatchesWhere) {
  const Catalog catalog = catalog_of(some());
  EXPECT_EQ(names(catalog.search("ledger", 10)), (Names{"ledger.read", "ledger.list_accounts"}));
  EXPECT_EQ(names(catalog.search("read the ledger", 10)).front(), "ledger.read");
  EXPECT_EQ(names(catalog.search("pull request", 10)), (Names{"github.createPullRequest", "github.merge"}));
  EXPECT_EQ(names(catalog.search("send mail", 10)).front(), "mail.send");
  EXPECT_EQ(names(catalog.search("tenant", 10)), (Names{"settlement.read", "ledger.read"}));
  EXPECT_EQ(names(catalog.search("subject", 10)), Names{"mail.send"});         // the name of a parameter
  EXPECT_EQ(names(catalog.search("posting date", 10)), Names{"ledger.read"});  // a parameter's description
  EXPECT_EQ(names(catalog.search("branch", 10)), Names{"github.createPullRequest"});
}

TEST(Search, TakesPluralsCaseAndBeginnings) {
  const Catalog catalog = catalog_of(some());
  EXPECT_EQ(names(catalog.search("ACCOUNT", 10)), Names{"ledger.list_accounts"});
  EXPECT_EQ(names(catalog.search("settle", 10)), Names{"settlement.read"});
  EXPECT_EQ(names(catalog.search("weath", 10)), Names{"weather.now"});
  EXPECT_TRUE(catalog.search("we", 10).empty());
  EXPECT_TRUE(catalog.search("eather", 10).empty());
}

TEST(Search, AWordCountsMoreThanItsBeginning) {
  const Catalog catalog = catalog_of({capability("x.a", "About posting."), capability("x.b", "About post.")});
  EXPECT_EQ(names(catalog.search("post", 10)), (Names{"x.b", "x.a"}));
}

TEST(Search, WhatIsNamedComesFirst) {
  const Catalog catalog = catalog_of(some());
  for (const std::string_view query : {"settlement.read", "tools.settlement.read"}) {
    EXPECT_EQ(names(catalog.search(query, 10)).front(), "settlement.read");
  }
}

TEST(Search, ShowsALineOfEach) {
  const auto found = catalog_of(some()).search("ledger tenant", 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].signature, "tools.ledger.read(*, tenant: str, since: str = ...) -> Any");
  EXPECT_EQ(found[0].summary, "Reads the ledger of one tenant.");
  EXPECT_EQ(catalog_of(some()).search("account", 1)[0].summary, "Lists accounts.");
}

TEST(Search, IsBoundedAndSaysNothingForNothing) {
  const Catalog catalog = catalog_of(some());
  for (const std::string_view query : {"", "   ", "the of a", "zzz", "\xff\xfe"})
    EXPECT_TRUE(catalog.search(query, 10).empty());
  EXPECT_TRUE(catalog.search("ledger", 0).empty());
  EXPECT_EQ(catalog.search("ledger", 1).size(), 1U);
  EXPECT_EQ(catalog.search(std::string(100'000, 'x') + " ledger", 10).size(), 0U);
  EXPECT_TRUE(catalog_of({}).search("ledger", 10).empty());
}

TEST(Search, DoesNotDependOnTheOrderOfCapabilities) {
  std::vector<Capability> all = some();
  const Catalog first = catalog_of(some());
  for (int turn = 0; turn < 8; ++turn) {
    std::rotate(all.begin(), all.begin() + 1, all.end());
    const Catalog other = catalog_of(all);
    for (const std::string_view query : {"read", "mail message", "tenant", "request base"}) {
      const auto a = first.search(query, 10);
      const auto b = other.search(query, 10);
      ASSERT_EQ(names(a), names(b)) << query;
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].score, b[i].score);
    }
  }
}

TEST(Near, FindsTheNameThatWasMeant) {
  const Catalog catalog = catalog_of(some());
  EXPECT_EQ(catalog.near("ledger.raed"), Names{"ledger.read"});
  EXPECT_EQ(catalog.near("ledgr.read").front(), "ledger.read");
  EXPECT_EQ(catalog.near("github.create_pull_request"), Names{"github.createPullRequest"});
  EXPECT_EQ(catalog.near("send"), Names{"mail.send"});
  EXPECT_EQ(catalog.near("email.send"), Names{"mail.send"});
  EXPECT_EQ(catalog.near("accounts.read", 5), (Names{"ledger.read", "settlement.read"}));
  EXPECT_TRUE(catalog.near("nothing.like_it").empty());
}

TEST(Paths, KeepNamesApart) {
  std::vector<Capability> all;
  const Names list = {"a.b",          "a_b",    "a-b",         "a",           "git-hub.2nd",
                      "git_hub.list", "search", "call.search", "_x.__init__", "class.from",
                      "..",           "é.ö",    "z.a b",       "z.a_b",       "z.a-b"};
  for (const std::string& name : list) all.push_back(capability(name, "d"));
  const Catalog catalog = catalog_of(all);
  std::set<std::string> paths;
  for (const std::string& name : list) {
    const Capability* one = catalog.find(name);
    ASSERT_NE(one, nullptr);
    const std::string path(catalog.path_of(*one));
    EXPECT_TRUE(paths.insert(path).second) << path;
    EXPECT_EQ(catalog.find_path(path), one);
    EXPECT_EQ(std::count(path.begin(), path.end(), '.'), std::count(name.begin(), name.end(), '.'));
  }
  const auto path = [&](std::string_view name) { return catalog.path_of(*catalog.find(name)); };
  EXPECT_EQ(path("a.b"), "a.b");
  EXPECT_EQ(path("a_b"), "a_b");
  EXPECT_EQ(path("a-b"), "a_b_2");
  EXPECT_EQ(path("git-hub.2nd"), "git_hub_2.x_2nd");
  EXPECT_EQ(path("git_hub.list"), "git_hub.list");
  EXPECT_EQ(path("search"), "search_");
  EXPECT_EQ(path("call.search"), "call_.search");
  EXPECT_EQ(path("_x.__init__"), "x__x.x___init__");
  EXPECT_EQ(path("class.from"), "class_.from_");
  EXPECT_EQ(catalog.find("no"), nullptr);
  EXPECT_EQ(catalog.find_path("no"), nullptr);
}

TEST(Tree, HoldsAStubForEachCapability) {
  const Catalog catalog = catalog_of(some());
  std::size_t files = 0;
  std::vector<std::string> folders = {""};
  while (!folders.empty()) {
    const std::string folder = folders.back();
    folders.pop_back();
    const auto entries = catalog.list(folder);
    ASSERT_TRUE(entries.has_value()) << folder;
    for (const Entry& entry : *entries) {
      const std::string path = folder + (folder.empty() ? "" : "/") + entry.name;
      if (entry.is_folder) {
        folders.push_back(path);
        EXPECT_FALSE(catalog.read(path).has_value());
        continue;
      }
      ++files;
      const auto text = catalog.read(path);
      ASSERT_TRUE(text.has_value()) << path;
      EXPECT_NE(text->find("Capability: "), std::string::npos);
      EXPECT_FALSE(catalog.list(path).has_value());
    }
  }
  EXPECT_EQ(files, catalog.size());
  EXPECT_EQ(catalog.list("ledger")->size(), 2U);
  EXPECT_EQ((*catalog.list("ledger"))[0].name, "list_accounts.pyi");
  EXPECT_NE(catalog.read("ledger/read.pyi")->find("def read(*, tenant: str, since: str = ...) -> Any:"),
            std::string::npos);
  for (const std::string_view path : {"ledger.read.pyi", "/ledger/read.pyi", "ledger/read",
                                      "ledger//read.pyi", "../ledger/read.pyi", "ledger/read.pyi/", ""}) {
    EXPECT_FALSE(catalog.read(path).has_value()) << path;
  }
  for (const std::string_view path : {"/", "ledger/", "nope", "."})
    EXPECT_FALSE(catalog.list(path).has_value()) << path;
}

TEST(Make, RefusesWhatItCannotHold) {
  const auto refusal = [](std::vector<Capability> all) {
    const auto catalog = Catalog::make(std::move(all));
    return catalog ? std::string("(none)") : catalog.error().message;
  };
  EXPECT_EQ(refusal({capability("a", ""), capability("b", ""), capability("a", "")}),
            "two capabilities are called \"a\"");
  EXPECT_NE(refusal({capability("", "")}).find("1 to 256 bytes"), std::string::npos);
  EXPECT_NE(refusal({capability("\xff", "")}).find("UTF-8"), std::string::npos);
  EXPECT_EQ(refusal({capability(std::string(kNameMax, 'a'), "")}), "(none)");
  EXPECT_NE(refusal({capability(std::string(kNameMax + 1, 'a'), "")}).find("1 to 256 bytes"),
            std::string::npos);
  EXPECT_EQ(refusal({capability("a", std::string(kDescriptionMax, 'a'))}), "(none)");
  EXPECT_NE(refusal({capability("a", std::string(kDescriptionMax + 1, 'a'))}).find("too long"),
            std::string::npos);
  EXPECT_NE(refusal({capability("a", "\xc3")}).find("not UTF-8"), std::string::npos);
}

TEST(Make, ThousandsAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Capability> all;
  const auto parameters = schema_of(
      R"({"properties":{"id":{"type":"integer","description":"which one"},"owner":{"type":"string"}}})");
  for (int i = 0; i < 5000; ++i) {
    Capability one;
    one.name = "service" + std::to_string(i % 50) + ".action_" + std::to_string(i);
    one.description = "Does the thing number " + std::to_string(i) + " of service " + std::to_string(i % 50) +
                      " for an owner.";
    one.parameters = parameters;
    all.push_back(std::move(one));
  }
  const Catalog catalog = catalog_of(std::move(all));
  EXPECT_EQ(names(catalog.search("thing 4321", 3)).front(), "service21.action_4321");
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(catalog.search("owner action thing service number", 100).size(), 100U);
  EXPECT_EQ(catalog.list("")->size(), 50U);
  EXPECT_EQ(catalog.near("service21.action_432l").front(), "service21.action_4321");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace casemate::catalog
