#include "image/tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>

#include "image/parallel.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

sys::Fd open_directory(const std::string& path) {
  return sys::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Result<Scan> scan(const std::string& path, Depth depth = Depth::kFull, unsigned threads = 2) {
  NoProgress progress;
  return scan_tree(open_directory(path), depth, threads, progress);
}

TEST(Tree, ScanReadsEveryKindInOrder) {
  const TestDir dir;
  write_text(dir / "b/file", "abc");
  ::chmod((dir / "b/file").c_str(), 04755);
  std::filesystem::create_symlink("b/file", dir / "a");
  const auto found = scan(dir.path());
  ASSERT_TRUE(found.has_value()) << message_of(found);
  ASSERT_EQ(found->manifest.entries.size(), 4U);
  EXPECT_EQ(found->manifest.entries[0].path, "/");
  EXPECT_EQ(found->manifest.entries[1].content, "b/file");
  const Entry& file = found->manifest.entries[3];
  EXPECT_EQ(file.path, "/b/file");
  EXPECT_EQ(file.mode, 04755U);
  EXPECT_EQ(file.size, 3U);
  EXPECT_EQ(file.content, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(found->oddities.empty());
}

TEST(Tree, ScanNamesWhatAnImageCannotHave) {
  const TestDir dir;
  write_text(dir / "one", "x");
  std::filesystem::create_hard_link(dir / "one", dir / "two");
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0644), 0);
  const auto found = scan(dir.path());
  ASSERT_TRUE(found.has_value()) << message_of(found);
  std::map<std::string, FaultKind> odd;
  for (const Fault& fault : found->oddities) odd[fault.path] = fault.kind;
  EXPECT_EQ(odd,
            (std::map<std::string, FaultKind>{
                {"/one", FaultKind::kShared}, {"/two", FaultKind::kShared}, {"/pipe", FaultKind::kType}}));
}

TEST(Tree, AQuickScanReadsNoFile) {
  const TestDir dir;
  write_text(dir / "file", "abc");
  const auto found = scan(dir.path(), Depth::kQuick);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->manifest.entries[1].size, 3U);
  EXPECT_TRUE(found->manifest.entries[1].content.empty());
}

TEST(Tree, NormaliseStripsModesAndTimes) {
  const TestDir dir;
  write_text(dir / "d/setuid", "x");
  write_text(dir / "d/plain", "x");
  ::chmod((dir / "d/setuid").c_str(), 06711);
  ::chmod((dir / "d/plain").c_str(), 0666);
  ::chmod((dir / "d").c_str(), 01777);
  std::filesystem::create_symlink("/nowhere", dir / "link");
  const auto done = normalise_tree(open_directory(dir.path()));
  ASSERT_TRUE(done.has_value()) << message_of(done);
  const auto found = scan(dir.path());
  ASSERT_TRUE(found.has_value());
  std::map<std::string, unsigned> modes;
  for (const Entry& entry : found->manifest.entries) modes[entry.path] = entry.mode;
  EXPECT_EQ(modes, (std::map<std::string, unsigned>{
                       {"/", 0755}, {"/d", 0755}, {"/d/plain", 0644}, {"/d/setuid", 0755}, {"/link", 0777}}));
  for (const char* name : {"", "d", "d/plain", "link"}) {
    struct stat status {};
    ASSERT_EQ(::lstat((dir / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mtim.tv_sec, 315532800) << name;
    EXPECT_EQ(status.st_mtim.tv_nsec, 0) << name;
  }
}

TEST(Tree, RemoveTakesEverythingAndFollowsNothing) {
  const TestDir dir;
  write_text(dir / "outside/kept", "x");
  write_text(dir / "gone/a/b/c", "x");
  std::filesystem::create_directory_symlink(dir / "outside", dir / "gone/a/link");
  ::chmod((dir / "gone/a/b").c_str(), 0500);
  const sys::Fd parent = open_directory(dir.path());
  const auto done = remove_tree(parent, "gone");
  ASSERT_TRUE(done.has_value()) << message_of(done);
  EXPECT_FALSE(std::filesystem::exists(dir / "gone"));
  EXPECT_TRUE(std::filesystem::exists(dir / "outside/kept"));
  EXPECT_TRUE(remove_tree(parent, "gone").has_value());
}

TEST(Parallel, DoesEachOnceAndAddsUpTheWeights) {
  class Last final : public Progress {
   public:
    void stage(std::string_view) override {}
    void advance(std::uint64_t done, std::uint64_t total) override { last_ = {done, total}; }
    void note(std::string_view) override {}
    std::pair<std::uint64_t, std::uint64_t> last_;
  };
  Last progress;
  std::vector<std::atomic<int>> times(1000);
  const auto done =
      run_parallel({times.size(), 4, 499500}, progress, [&](std::size_t i) -> Result<std::uint64_t> {
        ++times[i];
        return i;
      });
  ASSERT_TRUE(done.has_value());
  for (const auto& count : times) EXPECT_EQ(count, 1);
  EXPECT_EQ(progress.last_, (std::pair<std::uint64_t, std::uint64_t>{499500, 499500}));
}

TEST(Parallel, StopsAtAFailureAndReturnsIt) {
  NoProgress progress;
  std::atomic<int> calls{0};
  const auto done = run_parallel({100'000, 4, 0}, progress, [&](std::size_t i) -> Result<std::uint64_t> {
    ++calls;
    if (i == 10) return fail(ErrorCode::kExhausted, "ten");
    return 0;
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "ten");
  EXPECT_LT(calls, 100'000);
}

}  // namespace
}  // namespace casemate::image
