#include "http_server/listen.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "sys/test_support.h"

namespace casemate::http_server {
namespace {

class UnixListenerTest : public testing::Test {
 protected:
  std::string path_in(const char* name) { return folder_ / name; }
  // What a process that was killed leaves: a socket that nobody answers at.
  void leave_dead_socket(const std::string& path) {
    const sys::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ErrorCode refusal(const std::string& path) {
    const auto opened = UnixListener::open(path, 0600);
    return opened ? ErrorCode::kInternal : opened.error().code;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  sys::TestDir folder_;
  const std::string path_ = folder_ / "s";
};

TEST_F(UnixListenerTest, HasTheModeAskedForWhateverTheUmask) {
  const mode_t before = ::umask(0);
  EXPECT_TRUE(UnixListener::open(path_, 0600));
  {
    const auto opened = UnixListener::open(path_, 0600);
    EXPECT_EQ(mode_of(path_), 0600U);
  }
  ::umask(0777);
  const auto opened = UnixListener::open(path_, 0660);
  ::umask(before);
  ASSERT_TRUE(opened);
  EXPECT_EQ(mode_of(path_), 0660U);
}

TEST_F(UnixListenerTest, TakesThePlaceOfADeadSocket) {
  leave_dead_socket(path_);
  EXPECT_TRUE(UnixListener::open(path_, 0600));
  EXPECT_FALSE(std::filesystem::exists(path_)) << "and removes its own";
}

TEST_F(UnixListenerTest, LeavesAloneWhatIsNoDeadSocketOfOurs) {
  sys::write_text(path_in("file"), "precious");
  EXPECT_EQ(refusal(path_in("file")), ErrorCode::kInvalid);
  EXPECT_EQ(sys::read_text(path_in("file")), "precious");
  // A link, also one to a dead socket.
  leave_dead_socket(path_in("dead"));
  std::filesystem::create_symlink(path_in("dead"), path_in("link"));
  EXPECT_EQ(refusal(path_in("link")), ErrorCode::kInvalid);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(path_in("link"))));
  EXPECT_TRUE(std::filesystem::exists(path_in("dead")));
  std::filesystem::create_directory(path_in("folder"));
  EXPECT_EQ(refusal(path_in("folder")), ErrorCode::kInvalid);
}

TEST_F(UnixListenerTest, LeavesAloneWhatSomebodyAnswersAt) {
  const auto first = UnixListener::open(path_, 0600);
  ASSERT_TRUE(first);
  EXPECT_EQ(refusal(path_), ErrorCode::kUnavailable) << "by its lock";
  std::filesystem::remove(path_ + ".lock");
  EXPECT_EQ(refusal(path_), ErrorCode::kUnavailable) << "by its answer";
  EXPECT_TRUE(std::filesystem::is_socket(path_));
}

TEST_F(UnixListenerTest, AnotherUsersSocketIsLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a socket away";
  leave_dead_socket(path_);
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(path_), ErrorCode::kInvalid);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(UnixListenerTest, ClosingLeavesAloneWhatTookItsPlace) {
  auto first = UnixListener::open(path_, 0600);
  ASSERT_TRUE(first);
  std::filesystem::remove(path_);
  sys::write_text(path_, "another's");
  first->close();
  EXPECT_EQ(sys::read_text(path_), "another's");
}

TEST_F(UnixListenerTest, OthersMayNotWriteToItsDirectory) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_EQ(refusal(path_), ErrorCode::kDenied);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
  EXPECT_TRUE(UnixListener::open(path_, 0600)) << "as in /tmp, where each keeps what is his";
}

TEST_F(UnixListenerTest, APathHasALength) {
  const std::string longest = folder_ / "";
  EXPECT_TRUE(UnixListener::open(longest + std::string(107 - longest.size(), 'a'), 0600));
  EXPECT_EQ(refusal(longest + std::string(108 - longest.size(), 'a')), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(""), ErrorCode::kInvalid);
}

TEST(Loopback, TheAddressIsThisComputersOwn) {
  for (const bool ipv6 : {false, true}) {
    const auto listener = listen_on_loopback({0, ipv6});
    if (!listener && ipv6) GTEST_SKIP() << "needs IPv6: " << listener.error().message;
    ASSERT_TRUE(listener) << listener.error().message;
    EXPECT_GT(port_of(*listener).value(), 0);
    const auto again = listen_on_loopback({*port_of(*listener), ipv6});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace casemate::http_server
