#include "engine/tools_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "sys/test_support.h"

namespace casemate::engine {
namespace {

namespace fs = std::filesystem;

class ToolsTreeTest : public testing::Test {
 protected:
  ToolsTreeTest() {
    fs::create_directories(guest_ + "/usr/lib");
    sys::write_text(guest_ + "/usr/lib/runner.py", "pass\n");
  }
  static catalog::Catalog some(const std::vector<std::string>& names) {
    std::vector<catalog::Capability> capabilities;
    for (const std::string& name : names) capabilities.push_back({name, "What it does.", {}, {}, {}});
    return std::move(*catalog::Catalog::make(std::move(capabilities)));
  }
  Result<ToolsTree> tree(std::string_view version = "1") {
    return tools_tree(guest_, some({"ledger.read", "ledger.write", "ping"}), version, cache_);
  }
  std::size_t kept() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(cache_), fs::directory_iterator()));
  }

  const sys::TestDir dir_;
  const std::string guest_ = dir_ / "guest", cache_ = dir_ / "deep/cache";
};

TEST_F(ToolsTreeTest, HasTheGuestTreeAndAFileForEachCapability) {
  const mode_t before = ::umask(0077);
  const auto made = tree();
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(sys::read_text(made->path + "/usr/lib/runner.py"), "pass\n");
  EXPECT_NE(sys::read_text(made->path + "/tools/ledger/read.pyi").find("def read("), std::string::npos);
  EXPECT_TRUE(fs::exists(made->path + "/tools/ping.pyi"));
  for (const auto& entry : fs::recursive_directory_iterator(made->path + "/tools")) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, entry.is_directory() ? 0755U : 0444U) << entry.path();
  }
  EXPECT_EQ(kept(), 1U);  // nothing half made
}

TEST_F(ToolsTreeTest, IsMadeOnceForEachVersionAndGuestTree) {
  const auto first = tree();
  const auto time = fs::last_write_time(first->path + "/tools");
  EXPECT_EQ(tree()->path, first->path);
  EXPECT_EQ(fs::last_write_time(first->path + "/tools"), time);
  EXPECT_NE(tree("2")->path, first->path);
  sys::write_text(guest_ + "/usr/lib/runner.py", "another\n");
  const auto other = tree();
  EXPECT_NE(other->path, first->path);
  EXPECT_EQ(sys::read_text(other->path + "/usr/lib/runner.py"), "another\n");
}

TEST_F(ToolsTreeTest, KeepsThoseInUseAndTheLastOfTheOthers) {
  const auto held = tree("held");
  for (std::size_t i = 0; i < kTreesKept + 5; ++i) {
    const auto other = tree(std::to_string(i));
    fs::last_write_time(other->path, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  fs::last_write_time(held->path, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  (void)tree("last");
  EXPECT_TRUE(fs::exists(held->path + "/tools/ping.pyi"));
  EXPECT_LE(kept(), kTreesKept + 1);
  EXPECT_TRUE(fs::exists(tree(std::to_string(kTreesKept + 4))->path));
}

TEST_F(ToolsTreeTest, SaysWhatCannotBeMade) {
  sys::write_text(dir_ / "file", "");
  const auto made = tools_tree(guest_, some({"ping"}), "1", (dir_ / "file") + "/cache");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("/file"), std::string::npos);
  const auto none = tools_tree(dir_ / "none", some({"ping"}), "1", cache_);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("none"), std::string::npos);
}

}  // namespace
}  // namespace casemate::engine
