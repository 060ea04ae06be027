#include "image/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "image/build.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

// A store with the image "fake", built from a small Debian.
class StoreTest : public testing::Test {
 protected:
  StoreTest() : debian_(dir_) {
    debian_.add_package("tool");
    debian_.add_file("tool", "/bin/tool", "#!/bin/sh\n", 0755);
    debian_.add_file("tool", "/usr/share/tool/data", "data");
    debian_.add_link("tool", "/usr/bin/t", "tool");
    build_it();
  }

  void build_it(bool force = false) {
    auto store = Store::open(path(), StoreMode::kWrite);
    ASSERT_TRUE(store.has_value()) << message_of(store);
    NoProgress progress;
    BuildOptions options;
    options.force = force;
    auto built = build(*store, debian_.recipe({"tool"}), options, progress);
    ASSERT_TRUE(built.has_value()) << message_of(built);
    image_ = built->image;
  }

  std::string path() const { return dir_ / "store"; }
  std::string in_root(const std::string& name) const { return image_.rootfs() + name; }

  Result<ImageInfo> find(const std::string& name = "fake") const {
    auto store = Store::open(path(), StoreMode::kRead);
    if (!store) return tl::unexpected<Error>(store.error());
    return store->find(name);
  }

  std::vector<Fault> verify(Depth depth = Depth::kFull) const {
    auto store = Store::open(path(), StoreMode::kRead);
    EXPECT_TRUE(store.has_value()) << message_of(store);
    NoProgress progress;
    auto report = store->verify(image_, depth, 2, progress);
    EXPECT_TRUE(report.has_value()) << message_of(report);
    return report->faults;
  }

  void expect_fault(FaultKind kind, const std::string& where) const {
    const auto faults = verify();
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].kind, kind);
    EXPECT_EQ(faults[0].path, where);
  }

  TestDir dir_;
  FakeDebian debian_;
  ImageInfo image_;
};

TEST_F(StoreTest, FindsByNameAndByDigest) {
  const auto by_name = find();
  ASSERT_TRUE(by_name.has_value()) << message_of(by_name);
  EXPECT_EQ(by_name->name, "fake");
  EXPECT_EQ(by_name->rootfs(), path() + "/sha256/" + by_name->digest.substr(7) + "/rootfs");
  const auto by_digest = find(by_name->digest);
  ASSERT_TRUE(by_digest.has_value()) << message_of(by_digest);
  EXPECT_EQ(by_digest->path, by_name->path);
  EXPECT_TRUE(by_digest->name.empty());
}

TEST_F(StoreTest, UnknownImagesAreNotFound) {
  EXPECT_EQ(find("other").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find("sha256:" + std::string(64, '0')).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, NamesThatAreNoneAreRefused) {
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("../x"), std::string("a/b"), std::string("."),
        std::string("A"), std::string("-a"), std::string("a\0b", 3), std::string(65, 'a'),
        "sha256:" + std::string(63, 'a')}) {
    EXPECT_EQ(find(name).error().code, ErrorCode::kInvalid) << name;
  }
}

TEST_F(StoreTest, ANameFileWithGarbageIsRefused) {
  const std::string good = read_text(path() + "/names/fake");
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("garbage\n"), good.substr(0, good.size() - 1),
        good + "x\n", "sha256:../../../../etc/" + std::string(49, 'a') + "\n", "../" + good,
        std::string(1 << 20, 'x')}) {
    std::filesystem::remove(path() + "/names/fake");
    write_text(path() + "/names/fake", text);
    EXPECT_FALSE(find().has_value()) << text.substr(0, 100);
  }
}

TEST_F(StoreTest, ANameThatIsALinkOrAPipeIsRefused) {
  std::filesystem::rename(path() + "/names/fake", path() + "/elsewhere");
  std::filesystem::create_symlink("../elsewhere", path() + "/names/fake");
  EXPECT_EQ(find().error().code, ErrorCode::kUnavailable);
  std::filesystem::remove(path() + "/names/fake");
  ASSERT_EQ(::mkfifo((path() + "/names/fake").c_str(), 0644), 0);
  EXPECT_EQ(find().error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreTest, WhatOthersCanWriteIsRefused) {
  const std::string image = image_.path;
  for (const std::string& place :
       {path(), path() + "/sha256", path() + "/names", image, image + "/rootfs", path() + "/names/fake"}) {
    struct stat before {};
    ASSERT_EQ(::stat(place.c_str(), &before), 0);
    for (const unsigned bit : {0002U, 0020U}) {
      ::chmod(place.c_str(), (before.st_mode & 07777U) | bit);
      const auto found = find();
      EXPECT_EQ(found.error().code, ErrorCode::kUnavailable) << place;
      EXPECT_NE(message_of(found).find("can be written by others"), std::string::npos) << message_of(found);
    }
    ::chmod(place.c_str(), before.st_mode & 07777U);
    EXPECT_TRUE(find().has_value());
  }
}

TEST_F(StoreTest, WhatBelongsToSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  for (const std::string& place : {path(), path() + "/names/fake", image_.rootfs()}) {
    ASSERT_EQ(::chown(place.c_str(), 12345, 12345), 0);
    const auto found = find();
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable) << place;
    EXPECT_NE(message_of(found).find("belongs to user id 12345"), std::string::npos) << message_of(found);
    ASSERT_EQ(::chown(place.c_str(), 0, 0), 0);
  }
}

TEST_F(StoreTest, AMissingRootIsUnavailableAndSaysWhatToDo) {
  std::filesystem::remove_all(image_.rootfs());
  EXPECT_EQ(find().error().code, ErrorCode::kUnavailable);
  EXPECT_NE(message_of(find()).find("casemate image build --force fake"), std::string::npos);
  std::filesystem::remove_all(image_.path);
  EXPECT_EQ(find().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(find(image_.digest).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, ARootThatIsALinkIsRefused) {
  std::filesystem::rename(image_.rootfs(), image_.path + "/moved");
  std::filesystem::create_directory_symlink("moved", image_.rootfs());
  EXPECT_EQ(find().error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreTest, AStoreThatIsNotThereSaysHowToMakeOne) {
  const auto store = Store::open(dir_ / "none", StoreMode::kRead);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(store.error().message.find("casemate image build"), std::string::npos);
  write_text(dir_ / "file", "");
  EXPECT_EQ(Store::open(dir_ / "file", StoreMode::kWrite).error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreTest, ListShowsDamageAndGoesOn) {
  auto store = Store::open(path(), StoreMode::kRead);
  write_text(path() + "/names/broken", "x");
  const auto images = store->list();
  ASSERT_TRUE(images.has_value());
  ASSERT_EQ(images->size(), 2U);
  EXPECT_EQ((*images)[0].info.name, "broken");
  EXPECT_FALSE((*images)[0].fault.empty());
  ASSERT_TRUE((*images)[1].about.has_value());
  EXPECT_EQ((*images)[1].about->packages.front().name, "tool");
}

TEST_F(StoreTest, AboutOfAnotherImageIsRefused) {
  auto store = Store::open(path(), StoreMode::kRead);
  ASSERT_TRUE(store->about(image_).has_value());
  std::string text = read_text(image_.path + "/about");
  text.replace(text.find(image_.digest), image_.digest.size(), "sha256:" + std::string(64, '0'));
  std::filesystem::remove(image_.path + "/about");
  write_text(image_.path + "/about", text);
  EXPECT_EQ(store->about(image_).error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreTest, VerifyFindsNothingInAWholeImage) {
  EXPECT_TRUE(verify().empty());
  EXPECT_TRUE(verify(Depth::kQuick).empty());
}

TEST_F(StoreTest, VerifyFindsAChangedByte) {
  write_text(in_root("/usr/share/tool/data"), "dbta");
  expect_fault(FaultKind::kContent, "/usr/share/tool/data");
  EXPECT_TRUE(verify(Depth::kQuick).empty());
}

TEST_F(StoreTest, VerifyFindsAnAddedFile) {
  write_text(in_root("/usr/share/tool/new"), "");
  ::chmod(in_root("/usr/share/tool/new").c_str(), 0644);
  expect_fault(FaultKind::kExtra, "/usr/share/tool/new");
}

TEST_F(StoreTest, VerifyFindsARemovedFile) {
  std::filesystem::remove(in_root("/usr/share/tool/data"));
  expect_fault(FaultKind::kMissing, "/usr/share/tool/data");
}

TEST_F(StoreTest, VerifyFindsAChangedMode) {
  ::chmod(in_root("/usr/bin/tool").c_str(), 04755);
  expect_fault(FaultKind::kMode, "/usr/bin/tool");
}

TEST_F(StoreTest, VerifyFindsAChangedLink) {
  std::filesystem::remove(in_root("/usr/bin/t"));
  std::filesystem::create_symlink("/etc/passwd", in_root("/usr/bin/t"));
  expect_fault(FaultKind::kTarget, "/usr/bin/t");
}

TEST_F(StoreTest, VerifyFindsAFileThatSomebodyElseHolds) {
  std::filesystem::create_hard_link(in_root("/usr/bin/tool"), dir_ / "outside");
  expect_fault(FaultKind::kShared, "/usr/bin/tool");
}

TEST_F(StoreTest, VerifyFindsAChangedOrCutManifest) {
  const std::string file = image_.path + "/manifest";
  const std::string good = read_text(file);
  for (const std::string& text : {good.substr(0, good.size() / 2), good + "x", std::string()}) {
    std::filesystem::remove(file);
    write_text(file, text);
    expect_fault(FaultKind::kManifest, "manifest");
  }
  std::filesystem::remove(file);
  expect_fault(FaultKind::kManifest, "manifest");
}

TEST_F(StoreTest, ForceReplacesADamagedImage) {
  write_text(in_root("/usr/share/tool/data"), "dbta");
  build_it(/*force=*/true);
  EXPECT_TRUE(verify().empty());
  EXPECT_TRUE(names_in_directory(path() + "/tmp").empty());
}

TEST_F(StoreTest, TheSecondWriterWaitsAndGivesUpAtItsDeadline) {
  class Notes final : public Progress {
   public:
    void stage(std::string_view) override {}
    void advance(std::uint64_t, std::uint64_t) override {}
    void note(std::string_view line) override { lines_.emplace_back(line); }
    std::vector<std::string> lines_;
  };
  Notes notes;
  auto store = Store::open(path(), StoreMode::kWrite);
  {
    const auto first = StoreWriter::lock(*store, Deadline::in(milliseconds{1000}), notes);
    ASSERT_TRUE(first.has_value());
    const auto second = StoreWriter::lock(*store, Deadline::in(milliseconds{1}), notes);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::kDeadline);
    EXPECT_EQ(notes.lines_, (std::vector<std::string>{"waiting for another build to finish"}));
  }
  EXPECT_TRUE(StoreWriter::lock(*store, Deadline::in(milliseconds{1000}), notes).has_value());
}

TEST_F(StoreTest, TheFirstStoreThatHasTheImageIsTaken) {
  const auto second = find_image({dir_ / "none", path()}, "fake");
  ASSERT_TRUE(second.has_value()) << message_of(second);
  EXPECT_EQ(second->info.digest, image_.digest);
  ASSERT_TRUE(Store::open(dir_ / "empty", StoreMode::kWrite).has_value());
  EXPECT_TRUE(find_image({dir_ / "empty", path()}, "fake").has_value());
  EXPECT_EQ(find_image({dir_ / "empty", path()}, "other").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find_image({dir_ / "empty", dir_ / "none"}, "fake").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find_image({dir_ / "none"}, "fake").error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreTest, AnUnsafeStoreDoesNotGiveWayToTheNext) {
  ASSERT_TRUE(Store::open(dir_ / "open", StoreMode::kWrite).has_value());
  ::chmod((dir_ / "open").c_str(), 0777);
  EXPECT_EQ(find_image({dir_ / "open", path()}, "fake").error().code, ErrorCode::kUnavailable);
}

TEST(StorePaths, AreTheUsersOwnThenTheSystems) {
  const std::string system = "/var/lib/casemate/images";
  using Paths = std::vector<std::string>;
  EXPECT_EQ(store_paths(true, "/x", "/root"), Paths{system});
  EXPECT_EQ(store_paths(false, "/x", "/home/user"), (Paths{"/x/casemate/images", system}));
  EXPECT_EQ(store_paths(false, "", "/home/user"), (Paths{"/home/user/.local/share/casemate/images", system}));
  EXPECT_EQ(store_paths(false, "relative", "/home/user"),
            (Paths{"/home/user/.local/share/casemate/images", system}));
  EXPECT_EQ(store_paths(false, "", ""), Paths{system});
}

}  // namespace
}  // namespace casemate::image
