#include "microvm/layer_files.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "microvm/test_support.h"
#include "sys/test_support.h"

namespace casemate::guest {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kRegular = S_IFREG | 0755;

std::string piece(std::uint64_t at, std::string_view bytes) {
  return std::string(bytes_of(at)) + std::string(bytes);
}

class LayerFiles : public ::testing::Test {
 protected:
  FileKind regular(std::uint64_t size) { return {kRegular, 1, size}; }
  void give(const std::string& path, const FileKind& kind, const std::vector<std::string>& pieces = {},
            bool failed = false) {
    file_.begin(path);
    file_.take_kind(kind);
    for (const std::string& each : pieces) file_.take_data(each);
    file_.end(failed);
  }
  fs::file_type type(const std::string& path) { return fs::symlink_status(dir_ / path).type(); }
  bool there(const std::string& path) { return fs::exists(fs::symlink_status(dir_ / path)); }
  std::string text(const std::string& path) { return sys::read_text(dir_ / path); }

  sys::TestDir outer_;
  struct Inner {
    std::string path;
    std::string operator/(const std::string& name) const { return path + "/" + name; }
  } dir_{[this] {
    fs::create_directory(outer_ / "vol");
    return outer_ / "vol";
  }()};
  LayerFile file_{dir_.path};
};

TEST_F(LayerFiles, ARegularFileComesWholeWithItsParents) {
  give("work/out/deep/a.txt", regular(8), {piece(0, "abcd"), piece(4, "efgh")});
  EXPECT_EQ(text("work/out/deep/a.txt"), "abcdefgh");
  EXPECT_EQ(fs::status(dir_ / "work/out/deep/a.txt").permissions(), fs::perms{0644});
  EXPECT_EQ(fs::hard_link_count(dir_ / "work/out/deep/a.txt"), 1U);
  give("empty", regular(0));
  EXPECT_EQ(text("empty"), "");
}

TEST_F(LayerFiles, HolesStayHoles) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 30;
  give("sparse", regular(kSize), {piece(1 << 20, "x"), piece(kSize - 1, "y")});
  struct stat status {};
  ASSERT_EQ(::stat((dir_ / "sparse").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(kSize));
  EXPECT_LT(status.st_blocks, 1000);
  give("hole", regular(5000));
  EXPECT_EQ(text("hole"), std::string(5000, '\0'));
}

TEST_F(LayerFiles, OtherKindsAreMadeAsNoFileEither) {
  const std::vector<std::string> pieces = {piece(0, "abc")};
  give("d", {S_IFDIR | 0777, 3, 3}, pieces);
  give("l", {S_IFLNK | 0777, 1, 3}, pieces);
  give("p", {S_IFIFO | 0666, 1, 3}, pieces);
  EXPECT_EQ(type("d"), fs::file_type::directory);
  EXPECT_EQ(type("l"), fs::file_type::symlink);
  EXPECT_EQ(fs::read_symlink(dir_ / "l"), "of-the-guest");
  EXPECT_EQ(type("p"), fs::file_type::fifo);
  for (const std::uint32_t mode : {S_IFSOCK | 0777U, S_IFBLK | 0777U, S_IFCHR | 0777U, 0U, 0xffffffffU}) {
    const std::string name = "n" + std::to_string(mode);
    give(name, {mode, 1, 3}, pieces);
    EXPECT_EQ(type(name), fs::file_type::fifo) << "what is no file either: " << mode;
  }
}

TEST_F(LayerFiles, AFileOfSeveralNamesHasSeveral) {
  give("two", {kRegular, 2, 1}, {piece(0, "x")});
  EXPECT_EQ(fs::hard_link_count(dir_ / "two"), 2U);
  give("none", {kRegular, 0, 1}, {piece(0, "x")});
  EXPECT_EQ(fs::hard_link_count(dir_ / "none"), 2U) << "no file has none";
  const std::string longest(255, 'n');  // whose second name would be none
  give(longest, {kRegular, 2, 1}, {piece(0, "x")});
  EXPECT_FALSE(there(longest));
}

TEST_F(LayerFiles, DataOutsideOfItsSizeLeavesItOut) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  for (const std::uint64_t at : {std::uint64_t{2}, std::uint64_t{5}, kAll, kAll - 2, kAll / 2 + 1}) {
    give("f", regular(4), {piece(0, "ab"), piece(at, "abc"), piece(0, "ab")});
    EXPECT_FALSE(there("f")) << at;
  }
  give("f", regular(4), {piece(4, ""), piece(1, "abc")});
  EXPECT_TRUE(there("f")) << "within";
}

TEST_F(LayerFiles, APieceThatHasNoPlaceIsNone) {
  give("f", regular(4), {"", "1234567", std::string(8, '\0')});
  EXPECT_EQ(text("f"), std::string(4, '\0'));
}

TEST_F(LayerFiles, OneThatTheGuestCouldNotGiveIsLeftOut) {
  give("f", regular(4), {piece(0, "abcd")}, /*failed=*/true);
  EXPECT_FALSE(there("f"));
  file_.begin("never/said");
  file_.end(true);
  EXPECT_FALSE(there("never/said"));
}

TEST_F(LayerFiles, OneThatIsBegunAndNotEndedIsLeftOut) {
  const std::size_t before = sys::open_descriptors();
  file_.begin("a");
  file_.take_kind(regular(4));
  file_.begin("b");
  EXPECT_FALSE(there("a"));
  EXPECT_EQ(sys::open_descriptors(), before);
  {
    LayerFile other(dir_.path);
    other.begin("c");
    other.take_kind(regular(4));
    EXPECT_TRUE(there("c"));
  }
  EXPECT_FALSE(there("c"));
  EXPECT_EQ(sys::open_descriptors(), before);
}

TEST_F(LayerFiles, WhatIsThereAlreadyStaysAsItIs) {
  sys::write_text(dir_ / "f", "before");
  give("f", regular(4), {piece(0, "abcd")});
  EXPECT_EQ(text("f"), "before");
  ASSERT_EQ(::symlink((outer_ / "elsewhere").c_str(), (dir_ / "l").c_str()), 0);
  give("l", regular(4), {piece(0, "abcd")});
  EXPECT_FALSE(fs::exists(outer_ / "elsewhere"));
  give("f/beneath", regular(4), {piece(0, "abcd")});
  EXPECT_EQ(text("f"), "before") << "a parent that is a file";
}

TEST_F(LayerFiles, ALinkOfTheGuestsLeadsNowhere) {
  give("a", {S_IFLNK | 0777, 1, 3});
  give("a/b", regular(1), {piece(0, "x")});
  give("a/../../b", regular(1), {piece(0, "x")});  // no caller gives such a path
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(outer_.path())) ++count;
  EXPECT_EQ(count, 2U) << "vol and a";
}

TEST_F(LayerFiles, TheLongestPathThatAKernelTakes) {
  std::string path;
  while (path.size() < 4000) path += std::string(90, 'd') + "/";
  path += std::string(4095 - path.size(), 'f');
  give(path, regular(1), {piece(0, "x")});
  const int layer = ::open(dir_.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(::faccessat(layer, path.c_str(), R_OK, 0), 0) << path.size();
  (void)::close(layer);
  give(path + "g", regular(1), {piece(0, "x")});  // 4096: nothing, and no harm
  give(std::string(4096, 'x'), regular(1), {piece(0, "x")});
}

// Where nobody may write so much the kernel ends whoever tries, with SIGXFSZ.
TEST_F(LayerFiles, ASizeThatThisProcessMayNotWriteLeavesItOut) {
  const auto try_sizes = [this] {
    const rlimit limit{1 << 20, 1 << 20};
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
    for (const std::uint64_t size : {std::uint64_t{1 << 20} + 1, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
      give("large", regular(size), {piece(size - 1, "x")});
      if (there("large")) ::_exit(1);
    }
    give("right", regular(1 << 20), {piece((1 << 20) - 1, "x")});
    ::_exit(there("right") ? 0 : 2);
  };
  EXPECT_EXIT(try_sizes(), testing::ExitedWithCode(0), "");
}

TEST_F(LayerFiles, SizesThatNoFileHasLeaveItOut) {
  for (const std::uint64_t size : {std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    give("f", regular(size), {piece(0, "x")});
    EXPECT_FALSE(there("f")) << size;
  }
}

// On a disk of 64 KiB: what does not fit is left out, and the next one that does is not.
TEST_F(LayerFiles, OneThatDoesNotFitOnTheDiskIsLeftOut) {
  constexpr int kNoMount = 77;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string ids = std::to_string(::getuid());
    if (::unshare(CLONE_NEWNS) < 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ::_exit(kNoMount);
      sys::write_text("/proc/self/uid_map", "0 " + ids + " 1");
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
        ::mount("small", dir_.path.c_str(), "tmpfs", 0, "size=64k") < 0)
      ::_exit(kNoMount);
    LayerFile file(dir_.path);
    file.begin("large");
    file.take_kind(regular(1 << 20));
    for (std::uint64_t at = 0; at < (1 << 20); at += 4096) file.take_data(piece(at, std::string(4096, 'x')));
    file.end(false);
    if (there("large")) ::_exit(1);
    file.begin("small");
    file.take_kind(regular(4096));
    file.take_data(piece(0, std::string(4096, 'x')));
    file.end(false);
    ::_exit(there("small") ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMount) GTEST_SKIP() << "needs CAP_SYS_ADMIN or a user namespace, to mount";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LayerFile, OfALayerThatIsNotThereMakesNothing) {
  LayerFile file("/nowhere/at/all");
  file.begin("a/b");
  file.take_kind({kRegular, 1, 1});
  file.take_data(piece(0, "x"));
  file.end(false);
  EXPECT_FALSE(fs::exists("a"));
}

}  // namespace
}  // namespace casemate::guest
