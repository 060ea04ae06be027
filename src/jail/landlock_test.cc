// What restrict_files() leaves a process, asked of the kernel: in a child, in a small tree of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "jail/child.h"
#include "sys/fd.h"
#include "sys/test_support.h"

namespace casemate::jail {
namespace {

constexpr int kNoPrivilege = 200;

// A tree like a box's: /vol, /tmp, /dev/shm and five devices to write, a file and a directory to read.
// False when the kernel does not let us make it.
bool enter_small_tree(const std::string& place) {
  if (::unshare(CLONE_NEWNS) < 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return false;
  if (::mount("tree", place.c_str(), "tmpfs", 0, nullptr) < 0 || ::chdir(place.c_str()) < 0) return false;
  for (const char* name : {"vol", "tmp", "dev", "dev/shm", "etc"}) {
    if (::mkdir(name, 0777) < 0) return false;
  }
  for (const char* name : {"dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom", "dev/tty"}) {
    const sys::Fd file(::open(name, O_CREAT | O_WRONLY, 0666));
    if (::mount(("/" + std::string(name)).c_str(), name, nullptr, MS_BIND, nullptr) < 0) return false;
  }
  for (const char* name : {"etc/file", "vol/file", "tmp/file"}) {
    const sys::Fd file(::open(name, O_CREAT | O_WRONLY, 0666));
    if (::write(file.get(), "content", 7) != 7) return false;
  }
  return ::chroot(".") == 0;
}

// 0 when the call succeeded, else its errno.
int result_of(long done) { return done < 0 ? errno : 0; }
// Landlock says EXDEV where a copy would be allowed; either way the file stays where it is.
int refusal_of(long done) { return result_of(done) == EXDEV ? EACCES : result_of(done); }
int open_result(const char* path, int flags) { return result_of(sys::Fd(::open(path, flags, 0666)).get()); }

int connect_to(const std::string& name) {
  const sys::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result_of(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size));
}

struct Probe {
  int number;  // the child's exit code when the answer is another
  int expected;
  int answer;
};

int first_wrong(std::initializer_list<Probe> probes) {
  for (const Probe& probe : probes) {
    if (probe.answer != probe.expected) return probe.number;
  }
  return 0;
}

// Runs in the child. The number of the first probe that went wrong, or 0.
int probe_all(std::uint32_t abi, const std::string& listener) {
  const sys::Fd open_before(::open("/etc/file", O_RDWR));
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (restrict_files(abi) != 0) return 199;
  if (const int wrong = first_wrong({
          // reading everywhere
          {1, 0, open_result("/etc/file", O_RDONLY)},
          {2, 0, open_result("/", O_RDONLY | O_DIRECTORY)},
          {3, 0, open_result("/vol/file", O_RDONLY)},
          // writing outside: each way to do it
          {10, EACCES, open_result("/etc/file", O_WRONLY)},
          {11, EACCES, open_result("/etc/file", O_RDWR)},
          {12, EACCES, open_result("/etc/new", O_CREAT | O_WRONLY)},
          {13, EACCES, result_of(::mkdir("/etc/new", 0755))},
          {14, EACCES, result_of(::unlink("/etc/file"))},
          {15, EACCES, result_of(::rmdir("/etc"))},
          {16, EACCES, result_of(::symlink("/vol", "/etc/link"))},
          {17, EACCES, result_of(::mkfifo("/etc/fifo", 0666))},
          {18, EACCES, result_of(::rename("/etc/file", "/etc/renamed"))},
          {19, abi >= 3 ? EACCES : 0, result_of(::truncate("/etc/file", 7))},
      });
      wrong != 0) {
    return wrong;
  }
  if (const int wrong = first_wrong({
          // writing inside
          {30, 0, open_result("/vol/new", O_CREAT | O_RDWR | O_TRUNC)},
          {31, 0, open_result("/tmp/new", O_CREAT | O_WRONLY)},
          {32, 0, open_result("/dev/shm/new", O_CREAT | O_WRONLY)},
          {33, 0, result_of(::mkdir("/vol/d", 0755))},
          {34, 0, result_of(::symlink("new", "/vol/link"))},
          {35, 0, result_of(::mkfifo("/vol/fifo", 0666))},
          {36, 0, result_of(::rename("/vol/new", "/vol/d/new"))},
          {37, 0, result_of(::link("/vol/d/new", "/vol/second"))},
          {38, 0, result_of(::truncate("/vol/second", 0))},
          {39, 0, result_of(::unlink("/vol/second"))},
          {40, abi >= 2 ? 0 : EXDEV, result_of(::rename("/vol/d", "/tmp/d"))},
          // no way for a file to get in or out
          {50, EACCES, refusal_of(::rename("/vol/file", "/etc/file2"))},
          {51, EACCES, refusal_of(::link("/etc/file", "/vol/outside"))},
          // devices: never made; five are used, others only read
          {60, EACCES, result_of(::mknod("/vol/null", S_IFCHR | 0666, makedev(1, 3)))},
          // No whiteout (S_IFCHR, 0): by an erratum of 2026 the right to make regular files makes them.
          {62, EACCES, result_of(::mknod("/vol/disk", S_IFBLK | 0666, makedev(8, 0)))},
          {63, 0, open_result("/dev/null", O_RDWR)},
          {64, 0, open_result("/dev/zero", O_RDWR)},
          {65, 0, open_result("/dev/full", O_RDWR)},
          {66, 0, open_result("/dev/urandom", O_RDONLY)},
          {67, EACCES, open_result("/dev/tty", O_WRONLY)},
          {68, EACCES, open_result("/dev/new", O_CREAT | O_WRONLY)},
      });
      wrong != 0) {
    return wrong;
  }
  // What was open before is not ours to take away: the caller closes it.
  if (::write(open_before.get(), "x", 1) != 1) return 70;
  return first_wrong({
      // nobody outside is in reach
      {80, abi >= 6 ? EPERM : 0, result_of(::kill(::getppid(), 0))},
      {81, abi >= 6 ? EPERM : 0, connect_to(listener)},
      {82, 0, result_of(::kill(::getpid(), 0))},
  });
}

TEST(Landlock, LeavesTheBoxsOwnDirectoriesAndNothingElse) {
  const std::uint32_t abi = landlock_abi();
  if (abi == 0) GTEST_SKIP() << "needs a kernel with Landlock (5.13, in its list of security modules)";
  const sys::TestDir dir;
  const std::string listener = "casemate-landlock-" + std::to_string(::getpid());
  const sys::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  listener.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + listener.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 1), 0);

  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) ::_exit(enter_small_tree(dir.path()) ? probe_all(abi, listener) : kNoPrivilege);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kNoPrivilege) GTEST_SKIP() << "needs a mount namespace of its own (root)";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the probe that went wrong";
}

TEST(Landlock, WithoutItThereIsNoBox) { EXPECT_EQ(restrict_files(0), ENOSYS); }

// A directory that is missing is a failure, not a smaller wall.
TEST(Landlock, FailsWhenADirectoryOfTheBoxIsMissing) {
  if (landlock_abi() == 0)
    GTEST_SKIP() << "needs a kernel with Landlock (5.13, in its list of security modules)";
  if (std::filesystem::exists("/vol")) GTEST_SKIP() << "needs a host without /vol";
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::_exit(restrict_files(landlock_abi()) == ENOENT ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace casemate::jail
