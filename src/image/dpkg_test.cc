#include "image/dpkg.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace casemate::image {
namespace {

std::string paragraph(const std::string& name, const std::string& more,
                      const std::string& status = "install ok installed",
                      const std::string& architecture = "amd64") {
  return "Package: " + name + "\nStatus: " + status + "\nArchitecture: " + architecture +
         "\nVersion: 1.0-1\n" + more + "\n";
}

std::vector<std::string> closure(const std::string& status, const std::vector<std::string>& roots,
                                 const std::vector<Cut>& cuts = {}) {
  const auto installed = parse_status(status, "amd64");
  if (!installed) return {"status: " + installed.error().message};
  const auto packages = resolve_closure(*installed, roots, cuts);
  if (!packages) return {"closure: " + packages.error().message};
  std::vector<std::string> names;
  for (const Package& package : *packages) names.push_back(package.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Status, ReadsTheFieldsOfInstalledPackages) {
  const auto packages = parse_status(
      paragraph(
          "bash",
          "Multi-Arch: same\nPre-Depends: libc6 (>= 2.36)\nDepends: base-files (>= 2.1.12), a:any | b "
          "[amd64]\n"
          "Provides: sh (= 1.0), shell\nDescription: a shell\n with more\n .\nConffiles:\n /etc/bash.bashrc "
          "0123456789abcdef0123456789abcdef\n /etc/old 11111111111111111111111111111111 obsolete\n"),
      "amd64");
  ASSERT_TRUE(packages.has_value());
  ASSERT_EQ(packages->size(), 1U);
  const Package& bash = packages->front();
  EXPECT_EQ(bash.version, "1.0-1");
  EXPECT_TRUE(bash.multi_arch_same);
  EXPECT_EQ(bash.depends, (std::vector<Names>{{"libc6"}, {"base-files"}, {"a", "b"}}));
  EXPECT_EQ(bash.provides, (Names{"sh", "shell"}));
  ASSERT_EQ(bash.conffiles.size(), 2U);
  EXPECT_EQ(bash.conffiles[0].path, "/etc/bash.bashrc");
  EXPECT_FALSE(bash.conffiles[0].obsolete);
  EXPECT_TRUE(bash.conffiles[1].obsolete);
}

TEST(Status, LeavesOutWhatIsNotInstalledOrForAnotherArchitecture) {
  const std::string text = paragraph("removed", "", "deinstall ok config-files") +
                           paragraph("half", "", "install ok half-configured") +
                           paragraph("foreign", "", "install ok installed", "i386") +
                           paragraph("trigger", "", "install ok triggers-pending") +
                           paragraph("all", "", "install ok installed", "all");
  const auto packages = parse_status(text, "amd64");
  ASSERT_TRUE(packages.has_value());
  ASSERT_EQ(packages->size(), 2U);
  EXPECT_EQ((*packages)[0].name, "all");
  EXPECT_EQ((*packages)[1].name, "trigger");
}

TEST(Status, RefusesWhatIsNotAStatusFile) {
  EXPECT_FALSE(parse_status("no colon here\n", "amd64").has_value());
  EXPECT_FALSE(parse_status("Package: cut", "amd64").has_value());
  EXPECT_TRUE(parse_status("", "amd64").has_value());
  EXPECT_TRUE(parse_status(" a continuation of nothing\n", "amd64").has_value());
}

TEST(Closure, FollowsDependsAndPreDependsOnce) {
  const std::string status = paragraph("a", "Depends: b\nRecommends: unused\n") +
                             paragraph("b", "Pre-Depends: c\n") + paragraph("c", "") +
                             paragraph("unused", "");
  EXPECT_EQ(closure(status, {"a"}), (Names{"a", "b", "c"}));
}

TEST(Closure, CyclesEnd) {
  const std::string status = paragraph("a", "Depends: b, a\n") + paragraph("b", "Depends: a\n");
  EXPECT_EQ(closure(status, {"a", "b"}), (Names{"a", "b"}));
}

TEST(Closure, TakesTheFirstWayThatIsInstalled) {
  const std::string status =
      paragraph("a", "Depends: absent | second | third\n") + paragraph("second", "") + paragraph("third", "");
  EXPECT_EQ(closure(status, {"a"}), (Names{"a", "second"}));
}

TEST(Closure, AnInstalledPackageIsPreferredToAProvider) {
  const std::string status = paragraph("a", "Depends: virtual | real\n") + paragraph("real", "") +
                             paragraph("provider", "Provides: virtual\n");
  EXPECT_EQ(closure(status, {"a"}), (Names{"a", "real"}));
}

TEST(Closure, AVirtualPackageIsMetByTheFirstProviderByName) {
  const std::string status = paragraph("a", "Depends: mta\n") +
                             paragraph("postfix", "Provides: mta (= 1)\n") +
                             paragraph("exim", "Provides: other, mta\n");
  EXPECT_EQ(closure(status, {"a"}), (Names{"a", "exim"}));
}

TEST(Closure, ACutIsNotFollowed) {
  const std::string status =
      paragraph("a", "Depends: compiler | cc, b\n") + paragraph("b", "") + paragraph("cc", "");
  EXPECT_EQ(closure(status, {"a"}, {{"compiler", "not in a box"}}), (Names{"a", "b"}));
}

TEST(Closure, EveryMissingPackageIsNamedWithTheCommand) {
  const std::string status = paragraph("a", "Depends: gone | also-gone, lost\n");
  EXPECT_EQ(closure(status, {"a", "never"}),
            (Names{"closure: packages that the image is made of are not installed: gone lost never; install "
                   "them with: "
                   "apt-get install -y --no-install-recommends gone lost never"}));
}

TEST(Md5sums, AreReadWithASlashInFront) {
  const auto sums = parse_md5sums("d41d8cd98f00b204e9800998ecf8427e  usr/share/with  spaces\n");
  ASSERT_TRUE(sums.has_value());
  EXPECT_EQ(sums->at("/usr/share/with  spaces"), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_TRUE(parse_md5sums("").has_value());
  for (const char* bad :
       {"d41d8cd98f00b204e9800998ecf8427e usr/x\n", "d41d8cd98f00b204e9800998ecf8427e  \n",
        "D41D8CD98F00B204E9800998ECF8427E  usr/x\n", "d41d8cd98f00b204e9800998ecf8427e  usr/x", "\n"}) {
    EXPECT_FALSE(parse_md5sums(bad).has_value()) << bad;
  }
}

TEST(List, IsAbsolutePathsWithoutTheRoot) {
  const auto paths = parse_list("/.\n/usr\n/usr/a b\n");
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(*paths, (Names{"/usr", "/usr/a b"}));
  for (const char* bad : {"usr\n", "/usr", "/\n", "\n"}) EXPECT_FALSE(parse_list(bad).has_value()) << bad;
}

TEST(Diversions, AreTriples) {
  const auto diversions = parse_diversions("/bin/sh\n/bin/sh.distrib\ndash\n/a\n/b\n:\n");
  ASSERT_TRUE(diversions.has_value());
  ASSERT_EQ(diversions->size(), 2U);
  EXPECT_EQ((*diversions)[0].to, "/bin/sh.distrib");
  EXPECT_EQ((*diversions)[1].package, ":");
  for (const char* bad : {"/a\n", "/a\n/b\n", "a\n/b\nc\n", "/a\n/b\n\n", "/a\n/b\nc"}) {
    EXPECT_FALSE(parse_diversions(bad).has_value()) << bad;
  }
}

TEST(Alternative, HasChoicesWithTheirSlaves) {
  const auto awk =
      parse_alternative("awk",
                        "auto\n/usr/bin/awk\nnawk\n/usr/bin/nawk\nawk.1.gz\n/usr/share/man/awk.1.gz\n\n"
                        "/usr/bin/mawk\n5\n/usr/bin/mawk\n\n/usr/bin/gawk\n-10\n/usr/bin/gawk\n/m\n\n");
  ASSERT_TRUE(awk.has_value()) << awk.error().message;
  EXPECT_EQ(awk->master.link, "/usr/bin/awk");
  ASSERT_EQ(awk->slaves.size(), 2U);
  ASSERT_EQ(awk->choices.size(), 2U);
  EXPECT_EQ(awk->choices[0].slaves, (Names{"/usr/bin/mawk", ""}));
  EXPECT_EQ(awk->choices[1].priority, -10);
}

TEST(Alternative, RefusesWhatIsCutOrOdd) {
  const std::string good = "auto\n/usr/bin/awk\nnawk\n/usr/bin/nawk\n\n/usr/bin/mawk\n5\n/usr/bin/mawk\n\n";
  ASSERT_TRUE(parse_alternative("awk", good).has_value());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_alternative("awk", good.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(parse_alternative("awk", "auto\nusr/bin/awk\n\n\n").has_value());
  EXPECT_FALSE(parse_alternative("awk", "auto\n/usr/bin/awk\n\n/usr/bin/mawk\nfive\n\n").has_value());
}

}  // namespace
}  // namespace casemate::image
