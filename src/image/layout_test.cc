#include "image/layout.h"

#include <gtest/gtest.h>

namespace casemate::image {
namespace {

const std::string kSum = "d41d8cd98f00b204e9800998ecf8427e";

PackageFiles package(const std::string& name, const std::vector<std::string>& files,
                     const std::vector<std::string>& others = {}) {
  PackageFiles made;
  made.package = name;
  for (const std::string& path : files) {
    made.paths.push_back(path);
    made.md5s[path] = kSum;
  }
  made.paths.insert(made.paths.end(), others.begin(), others.end());
  return made;
}

std::map<std::string, std::string> planned(const std::vector<PackageFiles>& packages,
                                           const std::vector<Diversion>& diversions = {},
                                           const std::vector<Exclusion>& exclusions = {},
                                           const std::vector<std::string>& only = {}) {
  const auto paths = plan_paths(packages, diversions, only, exclusions);
  if (!paths) return {{"error", paths.error().message}};
  std::map<std::string, std::string> result;
  for (const PackagedPath& path : *paths) result[path.path] = path.source;
  return result;
}

using Plan = std::map<std::string, std::string>;

Item file() {
  Item item;
  item.type = EntryType::kFile;
  return item;
}

TEST(MergeUsr, MovesOnlyTheTopDirectoriesThatAreLinks) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"/bin/sh", "/usr/bin/sh"},     {"/sbin/x", "/usr/sbin/x"},   {"/lib/a/b", "/usr/lib/a/b"},
      {"/lib64/ld", "/usr/lib64/ld"}, {"/lib32/x", "/usr/lib32/x"}, {"/bin", "/usr/bin"},
      {"/usr/bin/x", "/usr/bin/x"},   {"/binary", "/binary"},       {"/opt/bin/x", "/opt/bin/x"},
      {"/libexec/x", "/libexec/x"}};
  for (const auto& [from, to] : cases) EXPECT_EQ(merge_usr(from), to);
}

TEST(Plan, MergesUsrAndKeepsWhereTheFileIs) {
  EXPECT_EQ(planned({package("bash", {"/bin/bash"}, {"/bin", "/usr", "/usr/bin"})}),
            (Plan{{"/usr", "/usr"}, {"/usr/bin", "/usr/bin"}, {"/usr/bin/bash", "/bin/bash"}}));
}

TEST(Plan, TwoOwnersOfOneFileAreAnError) {
  const auto plan = planned({package("a", {"/bin/x"}), package("b", {"/usr/bin/x"})});
  EXPECT_EQ(plan, (Plan{{"error", "both a and b own /usr/bin/x"}}));
  // A directory may belong to all.
  EXPECT_EQ(planned({package("a", {}, {"/usr"}), package("b", {}, {"/usr"})}), (Plan{{"/usr", "/usr"}}));
}

TEST(Plan, LeavesOutWhatIsExcluded) {
  EXPECT_EQ(
      planned({package("a", {"/usr/share/doc/a/b", "/usr/share/documents", "/usr/lib/x.a", "/lib/y.a"})}, {},
              {{"/usr/share/doc/*", "docs"}, {"/usr/lib/*.a", "build"}}),
      (Plan{{"/usr/share/documents", "/usr/share/documents"}}));
}

TEST(Plan, TakesOnlyWhatIsNamedAndNotExcluded) {
  EXPECT_EQ(
      planned({package("a", {"/lib/libx.so.1", "/usr/lib/libnss_y.so", "/usr/bin/tool", "/usr/bin/tool2"},
                       {"/usr", "/usr/lib"})},
              {}, {{"/usr/lib/libnss_*", "users"}}, {"/usr/lib/lib*.so*", "/usr/bin/tool"}),
      (Plan{{"/usr/bin/tool", "/usr/bin/tool"}, {"/usr/lib/libx.so.1", "/lib/libx.so.1"}}));
}

TEST(Plan, UndoesADiversionByAPackageThatIsNotInTheImage) {
  const std::vector<Diversion> diversions = {{"/bin/sh", "/bin/sh.distrib", "other"}};
  EXPECT_EQ(planned({package("dash", {"/bin/sh"})}, diversions), (Plan{{"/usr/bin/sh", "/bin/sh.distrib"}}));
}

TEST(Plan, FollowsADiversionByAPackageThatIsInTheImage) {
  const std::vector<Diversion> diversions = {{"/bin/sh", "/bin/sh.distrib", "dash"}};
  EXPECT_EQ(planned({package("dash", {"/bin/sh"}), package("bash", {"/usr/bin/sh"})}, diversions),
            (Plan{{"/usr/bin/sh", "/bin/sh"}, {"/usr/bin/sh.distrib", "/bin/sh.distrib"}}));
}

TEST(Plan, ALocalDiversionMovesEverybodysFile) {
  const std::vector<Diversion> diversions = {{"/usr/bin/x", "/usr/bin/x.real", ":"}};
  EXPECT_EQ(planned({package("a", {"/usr/bin/x"})}, diversions), (Plan{{"/usr/bin/x", "/usr/bin/x.real"}}));
}

TEST(Plan, APathThatLeadsOutIsRefused) {
  EXPECT_TRUE(planned({package("a", {"/usr/../../etc/shadow"})}).contains("error"));
}

TEST(Plan, AConffileHasTheSumOfItsPackage) {
  PackageFiles made = package("a", {}, {"/etc/a"});
  made.conffiles["/etc/a"] = kSum;
  const auto paths = plan_paths({made}, {}, {}, {});
  ASSERT_TRUE(paths.has_value());
  EXPECT_TRUE(paths->front().conffile);
  EXPECT_EQ(paths->front().md5, kSum);
}

Alternative awk() {
  return {{"awk", "/usr/bin/awk"},
          {{"nawk", "/usr/bin/nawk"}, {"awk.1", "/usr/share/man/awk.1"}},
          {{"/usr/bin/gawk", 10, {"/usr/bin/gawk", "/usr/share/man/gawk.1"}},
           {"/usr/bin/mawk", 5, {"/usr/bin/mawk", ""}},
           {"/bin/busybox", 5, {"/bin/busybox", ""}}}};
}

TEST(Alternatives, TakeTheBestChoiceThatTheImageHas) {
  Layout layout = {{"/usr/bin/mawk", file()}, {"/usr/bin/busybox", file()}};
  add_alternatives({awk()}, layout);
  EXPECT_EQ(layout.at("/usr/bin/awk").content, "/etc/alternatives/awk");
  EXPECT_EQ(layout.at("/etc/alternatives/awk").content, "/usr/bin/mawk");
  EXPECT_EQ(layout.at("/etc/alternatives/nawk").content, "/usr/bin/mawk");
  EXPECT_FALSE(layout.contains("/usr/share/man/awk.1"));

  layout.emplace("/usr/bin/gawk", file());
  Layout better = {{"/usr/bin/mawk", file()}, {"/usr/bin/gawk", file()}};
  add_alternatives({awk()}, better);
  EXPECT_EQ(better.at("/etc/alternatives/awk").content, "/usr/bin/gawk");
}

TEST(Alternatives, WithoutAChoiceThereIsNoLink) {
  Layout layout;
  add_alternatives({awk()}, layout);
  EXPECT_TRUE(layout.empty());
}

TEST(Parents, AreAddedUpToTheRoot) {
  Layout layout = {{"/usr/lib/a/b", file()}};
  ASSERT_TRUE(add_parents(layout).has_value());
  for (const char* path : {"/", "/usr", "/usr/lib", "/usr/lib/a"}) {
    ASSERT_TRUE(layout.contains(path)) << path;
    EXPECT_EQ(layout.at(path).type, EntryType::kDirectory);
  }
}

// Writing to such a path would follow the link, out of the image if it likes.
TEST(Parents, AFileBelowALinkIsRefused) {
  Layout layout = {{"/usr/a", make_link("/etc")}, {"/usr/a/passwd", file()}};
  EXPECT_FALSE(add_parents(layout).has_value());
}

TEST(Links, AreFollowedAsTheKernelWould) {
  Layout layout = {{"/bin", make_link("usr/bin")},
                   {"/usr/bin/sh", make_link("../bin/dash")},
                   {"/usr/bin/dash", file()},
                   {"/usr/x", make_link("/bin/./sh")},
                   {"/loop", make_link("loop")},
                   {"/above", make_link("../../../usr/bin/dash")},
                   {"/through", make_link("usr/bin/dash/deeper")},
                   {"/gone", make_link("usr/gone")}};
  ASSERT_TRUE(add_parents(layout).has_value());
  for (const char* path : {"/bin", "/bin/sh", "/usr/x", "/above", "/"})
    EXPECT_TRUE(leads_somewhere(layout, path)) << path;
  for (const char* path : {"/loop", "/through", "/gone", "/usr/none"}) {
    EXPECT_FALSE(leads_somewhere(layout, path)) << path;
  }
}

TEST(Links, ThoseThatLeadNowhereAreDroppedInTurn) {
  Layout layout = {{"/a", make_link("b")}, {"/b", make_link("c")}, {"/d", make_link("e")}, {"/e", file()}};
  Item kept = make_link("/vol/work");
  kept.kept = true;
  layout.emplace("/work", kept);
  ASSERT_TRUE(add_parents(layout).has_value());
  drop_dangling_links(layout);
  EXPECT_FALSE(layout.contains("/a"));
  EXPECT_FALSE(layout.contains("/b"));
  EXPECT_TRUE(layout.contains("/d"));
  EXPECT_TRUE(layout.contains("/work"));
}

}  // namespace
}  // namespace casemate::image
