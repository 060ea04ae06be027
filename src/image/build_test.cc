#include "image/build.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "image/test_support.h"

namespace casemate::image {
namespace {

class BuildTest : public testing::Test {
 protected:
  BuildTest() : debian_(dir_) {
    debian_.add_package("tool", "lib (>= 1) | other");
    debian_.add_file("tool", "/bin/tool", "#!/bin/sh\n", 0755);
    debian_.add_package("lib");
    debian_.add_file("lib", "/usr/lib/lib.so.1.2", "elf");
    debian_.add_link("lib", "/usr/lib/lib.so.1", "lib.so.1.2");
    debian_.list("lib", "/usr/share/nothing");
    std::filesystem::create_directories(debian_.root() + "/usr/share/nothing");
  }

  Result<Built> run(const Recipe& recipe, const std::string& name = "store", bool force = false) const {
    auto store = Store::open(dir_ / name, StoreMode::kWrite);
    if (!store) return tl::unexpected<Error>(store.error());
    NoProgress progress;
    BuildOptions options;
    options.force = force;
    options.now_s = 1'700'000'000;
    return build(*store, recipe, options, progress);
  }
  Result<Built> run() const { return run(debian_.recipe({"tool"})); }

  TestDir dir_;
  FakeDebian debian_;
};

TEST_F(BuildTest, CopiesThePackagesAndWhatWeMake) {
  const auto built = run();
  ASSERT_TRUE(built.has_value()) << message_of(built);
  EXPECT_EQ(read_text(built->image.path + "/manifest"),
            "d 0755 0 - /\n"
            "l 0777 0 usr/bin /bin\n"
            "d 0755 0 - /etc\n"
            "f 0644 35 c1759f2e67ee264679f92f88b677576c3fea28171fcef82d5a44d04cbf5e07d9 /etc/passwd\n"
            "d 0755 0 - /proc\n"
            "d 0755 0 - /usr\n"
            "d 0755 0 - /usr/bin\n"
            "f 0755 10 a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf /usr/bin/tool\n"
            "d 0755 0 - /usr/lib\n"
            "l 0777 0 lib.so.1.2 /usr/lib/lib.so.1\n"
            "f 0644 3 780d84b20d7ae7e6292919399348bdbf96025270136198083fc8a4da398b5ca9 /usr/lib/lib.so.1.2\n"
            "d 0755 0 - /vol\n"
            "l 0777 0 /vol/work /work\n");
  EXPECT_EQ(built->about.packages,
            (std::vector<PackageVersion>{{"lib", "1.0", "all"}, {"tool", "1.0", "all"}}));
  EXPECT_EQ(built->about.files, 3U);
  EXPECT_EQ(built->about.links, 3U);
  EXPECT_EQ(built->about.created_s, 1'700'000'000);
}

TEST_F(BuildTest, NoFileIsSharedWithTheMachine) {
  const auto built = run();
  ASSERT_TRUE(built.has_value()) << message_of(built);
  struct stat inside {};
  struct stat outside {};
  ASSERT_EQ(::stat((built->image.rootfs() + "/usr/bin/tool").c_str(), &inside), 0);
  ASSERT_EQ(::stat((debian_.root() + "/bin/tool").c_str(), &outside), 0);
  EXPECT_NE(inside.st_ino, outside.st_ino);
  EXPECT_EQ(inside.st_nlink, 1U);
  EXPECT_EQ(outside.st_nlink, 1U);
}

TEST_F(BuildTest, TwoBuildsHaveOneDigest) {
  const auto first = run(debian_.recipe({"tool"}), "one");
  ASSERT_TRUE(first.has_value()) << message_of(first);
  // Times and modes of the machine do not count.
  ::chmod((debian_.root() + "/bin/tool").c_str(), 0700);
  const auto second = run(debian_.recipe({"tool"}), "two");
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_EQ(first->image.digest, second->image.digest);
  EXPECT_NE(first->image.path, second->image.path);
}

TEST_F(BuildTest, AnImageThatIsCurrentIsReused) {
  const auto first = run();
  ASSERT_TRUE(first.has_value()) << message_of(first);
  EXPECT_FALSE(first->reused);
  const auto second = run();
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_TRUE(second->reused);
  EXPECT_EQ(second->about, first->about);

  debian_.add_package("extra");
  EXPECT_TRUE(run()->reused) << "a package that is not part of the image changes nothing";
  EXPECT_FALSE(run(debian_.recipe({"tool"}), "store", /*force=*/true)->reused);
  Recipe recipe = debian_.recipe({"tool"});
  recipe.directories.emplace_back("/more");
  const auto other = run(recipe);
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->reused);
  EXPECT_NE(other->image.digest, first->image.digest);
}

TEST_F(BuildTest, AnotherRecipeForTheSameContentIsRemembered) {
  const auto first = run();
  Recipe recipe = debian_.recipe({"lib", "tool"});
  const auto second = run(recipe);
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_FALSE(second->reused);
  EXPECT_EQ(second->image.digest, first->image.digest);
  EXPECT_TRUE(run(recipe)->reused);
}

TEST_F(BuildTest, ADamagedImageIsBuiltAgain) {
  const auto first = run();
  ASSERT_TRUE(first.has_value());
  std::filesystem::remove(first->image.rootfs() + "/usr/bin/tool");
  const auto second = run();
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_FALSE(second->reused);
  EXPECT_TRUE(std::filesystem::exists(second->image.rootfs() + "/usr/bin/tool"));
}

TEST_F(BuildTest, AFileThatDiffersFromItsPackageStopsTheBuild) {
  write_text(debian_.root() + "/usr/lib/lib.so.1.2", "bad");
  const auto built = run();
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      built.error().message,
      "/usr/lib/lib.so.1.2 of package lib differs from what the package brought (MD5); put it right with: "
      "apt-get install --reinstall lib");
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());
  EXPECT_TRUE(names_in_directory(dir_ / "store/names").empty());
}

TEST_F(BuildTest, AMissingUncheckedOrOtherFileStopsTheBuild) {
  debian_.add_package("odd");
  const Recipe recipe = debian_.recipe({"odd"});
  debian_.add_file("odd", "/usr/a", "x");
  std::filesystem::remove(debian_.root() + "/usr/a");
  EXPECT_NE(message_of(run(recipe, "store", /*force=*/true)).find("/usr/a of package odd is missing"),
            std::string::npos);
  std::filesystem::create_symlink("/etc/shadow", debian_.root() + "/usr/a");
  EXPECT_NE(message_of(run(recipe, "store", /*force=*/true))
                .find("/usr/a of package odd is not what the package brought"),
            std::string::npos);
  std::filesystem::remove(debian_.root() + "/usr/a");
  write_text(debian_.root() + "/usr/a", "x");
  EXPECT_TRUE(run(recipe).has_value());
  debian_.add_unchecked_file("odd", "/usr/b", "x");
  EXPECT_NE(message_of(run(recipe, "store", /*force=*/true)).find("/usr/b of package odd has no checksum"),
            std::string::npos);
}

TEST_F(BuildTest, AMissingPackageIsNamedWithTheCommand) {
  const auto built = run(debian_.recipe({"tool", "absent"}));
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(built.error().message.find("apt-get install -y --no-install-recommends absent"),
            std::string::npos);
}

TEST_F(BuildTest, AnEditedConffileIsLeftOutAndNamed) {
  const std::string good = "setting = 1\n";
  const std::string sum = crypto::digest_hex(crypto::DigestKind::kMd5, good);
  debian_.add_package(
      "conf", "",
      "Conffiles:\n /etc/conf " + sum + "\n /etc/edited " + sum + "\n /etc/old " + sum + " obsolete\n");
  debian_.add_unchecked_file("conf", "/etc/conf", good);
  debian_.add_unchecked_file("conf", "/etc/edited", "password = secret\n");
  debian_.add_unchecked_file("conf", "/etc/old", good);
  const auto built = run(debian_.recipe({"conf"}));
  ASSERT_TRUE(built.has_value()) << message_of(built);
  EXPECT_EQ(read_text(built->image.rootfs() + "/etc/conf"), good);
  EXPECT_FALSE(std::filesystem::exists(built->image.rootfs() + "/etc/edited"));
  EXPECT_FALSE(std::filesystem::exists(built->image.rootfs() + "/etc/old"));
  EXPECT_EQ(built->about.omitted, (std::vector<Omitted>{{"/etc/edited", "conf"}}));
}

TEST_F(BuildTest, ASteppedBuildRunsInTheImage) {
  Recipe recipe = debian_.recipe({"tool"});
  recipe.steps = {{"fail", {{"/usr/bin/tool"}}}};
  const auto built = run(recipe);
  ASSERT_FALSE(built.has_value());
  // The "tool" is a script whose interpreter the image lacks: had the step run on the machine, it would work.
  EXPECT_NE(message_of(built).find("step 'fail'"), std::string::npos) << message_of(built);
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());
}

TEST_F(BuildTest, AStoreThatCannotBeWrittenIsUnavailable) {
  // Root writes whatever the mode says; nobody opens a directory for writing.
  std::filesystem::create_directories(dir_ / "store/lock");
  const auto built = run();
  EXPECT_EQ(built.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(message_of(built).find("cannot be written"), std::string::npos) << message_of(built);
}

// What a build that is killed at any instant leaves behind.
TEST_F(BuildTest, AKilledBuildLeavesAStoreThatWorks) {
  debian_.add_package("many");
  for (int i = 0; i < 300; ++i) {
    debian_.add_file("many", "/usr/share/many/" + std::to_string(i),
                     std::string(2000, static_cast<char>('a' + i % 26)));
  }
  const Recipe recipe = debian_.recipe({"many", "tool"});
  const Instant start = now();
  ASSERT_TRUE(run(recipe, "timing").has_value());
  const auto whole = std::chrono::duration_cast<microseconds>(now() - start).count();

  const auto seed = std::random_device()();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(run(recipe, "store", /*force=*/true).has_value() ? 0 : 1);
    const auto span =
        microseconds{static_cast<long>(random() % (static_cast<unsigned long>(whole) * 5 / 4 + 1))};
    std::this_thread::sleep_for(span);  // the random instant at which the build is killed
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);

    const auto store = Store::open(dir_ / "store", StoreMode::kRead);
    if (!store) continue;  // killed before there was one
    const auto image = store->find("fake");
    if (!image) continue;
    NoProgress progress;
    const auto report = store->verify(*image, Depth::kFull, 1, progress);
    ASSERT_TRUE(report.has_value() && report->ok()) << "seed " << seed << ", round " << round;
  }
  const auto built = run(recipe);
  ASSERT_TRUE(built.has_value()) << message_of(built) << ", seed " << seed;
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());
  EXPECT_EQ(names_in_directory(dir_ / "store/sha256").size(), 1U);
}

TEST_F(BuildTest, TwoBuildersAtOnceAgree) {
  Result<Built> first = fail(ErrorCode::kInternal, "did not run");
  Result<Built> second = fail(ErrorCode::kInternal, "did not run");
  std::thread one([&] { first = run(); });
  std::thread two([&] { second = run(); });
  one.join();
  two.join();
  ASSERT_TRUE(first.has_value()) << message_of(first);
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_EQ(first->image.digest, second->image.digest);
  EXPECT_NE(first->reused, second->reused);
}

TEST(PythonRecipe, SaysWhyOfEverythingItLeavesOut) {
  const Recipe recipe = python_recipe();
  for (const Cut& cut : recipe.cuts) EXPECT_FALSE(cut.why.empty()) << cut.package;
  for (const Exclusion& exclusion : recipe.exclusions)
    EXPECT_FALSE(exclusion.why.empty()) << exclusion.pattern;
  EXPECT_EQ(recipe_digest(recipe), recipe_digest(python_recipe()));
  Recipe other = recipe;
  other.files.front().content += "x";
  EXPECT_NE(recipe_digest(other), recipe_digest(recipe));
}

}  // namespace
}  // namespace casemate::image
