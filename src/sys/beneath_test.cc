// What a guest may have left in its layer, and what we do with it.
#include "sys/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "sys/test_support.h"

namespace casemate::sys {
namespace {

// A layer with everything in it, beside a secret that is not.
class Beneath : public ::testing::Test {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    write_text(dir_ / "secret", "SECRET");
    fs::create_directories(dir_ / "layer/sub/deep");
    write_text(in("file"), "content");
    write_text(in("sub/file"), "below");
    write_text(in("empty"), "");
    fs::create_symlink("file", in("link"));
    fs::create_symlink(dir_ / "secret", in("link_out"));
    fs::create_symlink("../secret", in("link_up"));
    fs::create_symlink("sub", in("link_dir"));
    fs::create_symlink("/", in("link_root"));
    fs::create_symlink("loop", in("loop"));
    fs::create_symlink("/proc/self/root", in("magic_root"));
    fs::create_symlink("/proc/self/cwd", in("magic_cwd"));
    fs::create_symlink("/proc/self/fd/0", in("magic_fd"));
    fs::create_hard_link(in("file"), in("second_name"));
    write_text(in("one_name"), "mine");
    ASSERT_EQ(::mkfifo(in("fifo").c_str(), 0644), 0);
    listening_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    in("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    layer_ = *open_at(AT_FDCWD, dir_ / "layer", O_PATH | O_DIRECTORY);
  }

  std::string in(const std::string& name) const { return dir_ / ("layer/" + name); }

  // The code of the failure, or nothing when it opened.
  std::optional<ErrorCode> refused(const std::string& path) const {
    const auto file = open_regular_beneath(layer_, path);
    if (file) return std::nullopt;
    return file.error().code;
  }

  TestDir dir_;
  Fd layer_;
  Fd listening_;
};

TEST_F(Beneath, OpensRegularFilesWithOneName) {
  for (const std::string path :
       {"one_name", "./one_name", "sub/../one_name", "sub/file", "sub//file", "empty"}) {
    const auto file = open_regular_beneath(layer_, path);
    ASSERT_TRUE(file) << path << ": " << file.error().message;
    EXPECT_NE(::fcntl(file->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  const auto file = open_regular_beneath(layer_, "one_name");
  EXPECT_EQ(file->size, 4U);
  EXPECT_EQ(read_file(file->fd, 100).value(), "mine");
}

TEST_F(Beneath, RefusesPathsThatAreNone) {
  for (const std::string& path : {std::string(), std::string("/"), std::string("/etc/passwd"),
                                  dir_ / "secret", std::string("a\0b", 3), std::string("one_name\0", 9)}) {
    EXPECT_EQ(refused(path), ErrorCode::kInvalid) << path;
  }
}

TEST_F(Beneath, NeverLeadsOutOrThroughALink) {
  for (const std::string path :
       {"..", "../secret", "sub/../../secret", "sub/deep/../../../secret", "./../secret", "link", "link_out",
        "link_up", "link_dir", "link_dir/file", "link_root", "link_root/etc/passwd", "loop", "loop/x",
        "magic_root", "magic_root/etc/passwd", "magic_cwd", "magic_fd"}) {
    EXPECT_EQ(refused(path), ErrorCode::kDenied) << path;
  }
}

TEST_F(Beneath, NeverFollowsAMagicLink) {
  const Fd proc = *open_at(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY);
  const std::string self = std::to_string(::getpid());
  for (const std::string& name : {std::string("exe"), std::string("root/etc/passwd"), std::string("cwd"),
                                  std::string("fd/0"), std::string("ns/mnt")}) {
    const auto opened = open_beneath(proc, self + "/" + name, O_RDONLY);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::kDenied) << name;
  }
}

TEST_F(Beneath, StaysOnTheLayersFileSystem) {
  const Fd root = *open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY);
  const auto opened = open_beneath(root, "proc/version", O_RDONLY);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDenied);
}

TEST_F(Beneath, TakesNoOtherKindOfFileAndDoesNotBlock) {
  const Instant begun = now();
  for (const std::string path : {"fifo", "socket", "sub", ".", "sub/deep"}) {
    EXPECT_EQ(refused(path), ErrorCode::kDenied) << path;
  }
  EXPECT_LT(now() - begun, milliseconds{5000});
}

TEST_F(Beneath, TakesNoDevice) {
  if (::mknod(in("device").c_str(), S_IFCHR | 0666, 0x0103) < 0) {
    GTEST_SKIP() << "needs the right to make a device node (root)";
  }
  EXPECT_EQ(refused("device"), ErrorCode::kDenied);
}

TEST_F(Beneath, TakesNoFileWithASecondName) {
  EXPECT_EQ(refused("file"), ErrorCode::kDenied);
  EXPECT_EQ(refused("second_name"), ErrorCode::kDenied);
  std::filesystem::remove(in("second_name"));
  EXPECT_EQ(refused("file"), std::nullopt);
}

TEST_F(Beneath, SaysWhatIsNotThere) {
  for (const std::string path : {"none", "sub/none", "none/file", "one_name/x"}) {
    EXPECT_EQ(refused(path), ErrorCode::kNotFound) << path;
  }
  EXPECT_TRUE(refused(std::string(300, 'n')));
  EXPECT_TRUE(refused(std::string(5000, '/') + "x"));
}

TEST_F(Beneath, SaysThatAModeForbids) {
  ASSERT_EQ(::chmod(in("one_name").c_str(), 0), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    if (::geteuid() == 0 && ::setresuid(65'534, 65'534, 65'534) < 0) ::_exit(2);  // root may read every mode
    ::_exit(refused("one_name") == ErrorCode::kDenied ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST_F(Beneath, ASparseFilesSizeIsOnlyWhatItClaims) {
  ASSERT_EQ(::truncate(in("one_name").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(open_regular_beneath(layer_, "one_name")->size, std::uint64_t{1} << 40);
}

// Exchanges two names, again and again, until told to stop.
void exchange(const std::string& a, const std::string& b, const std::atomic<bool>& stop) {
  while (!stop) {
    (void)::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), 2U /* RENAME_EXCHANGE */);
  }
}

TEST_F(Beneath, ARaceOfRenamesNeverShowsWhatIsOutside) {
  std::filesystem::create_directories(dir_ / "outside");
  write_text(dir_ / "outside/file", "SECRET");
  std::filesystem::create_directory_symlink(dir_ / "outside", in("swap"));
  std::atomic<bool> stop = false;
  // A directory and a link to one outside change places; so do a file and a link to the secret.
  std::thread directories([&] { exchange(in("sub"), in("swap"), stop); });
  std::thread files([&] { exchange(in("one_name"), in("link_out"), stop); });
  int opened = 0;
  for (int round = 0; round < 4000; ++round) {
    for (const std::string path : {"sub/file", "sub/../one_name", "one_name", "link_out"}) {
      const auto file = open_regular_beneath(layer_, path);
      if (!file) continue;
      ++opened;
      ASSERT_NE(read_file(file->fd, 100).value(), "SECRET") << path;
    }
  }
  stop = true;
  directories.join();
  files.join();
  EXPECT_GT(opened, 0);
}

// What a box of an image would find.
TEST_F(Beneath, AProgramIsLookedForInsideTheRoot) {
  namespace fs = std::filesystem;
  const std::string root = dir_ / "layer";
  EXPECT_TRUE(has_program(root, "file"));
  EXPECT_TRUE(has_program(root, "link"));
  EXPECT_FALSE(has_program(root, "sub"));
  EXPECT_FALSE(has_program(root, "nothing"));
  EXPECT_FALSE(has_program(root, "file/below"));
  EXPECT_FALSE(has_program(root, "loop"));
  // On the host they lead to a file; in a box to nothing.
  EXPECT_FALSE(has_program(root, "link_out"));
  EXPECT_FALSE(has_program(root, "link_up"));
  fs::create_symlink("/sub/file", in("link_in"));
  EXPECT_TRUE(has_program(root, "link_in"));
}

}  // namespace
}  // namespace casemate::sys
