// A real full disk: a tmpfs of some kilobytes in a mount namespace of the test's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "audit/log.h"
#include "audit/test_support.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;

constexpr int kNoPrivilege = 100;

// Runs in a child, in a file system of this size; what it answers, 0 when all is right.
int on_small_disk(const std::string& size, const std::function<int(const std::string&)>& body) {
  const sys::TestDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    const int namespaces = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(namespaces) < 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
        ::mount("small", dir.path().c_str(), "tmpfs", 0, ("mode=0700,size=" + size).c_str()) < 0) {
      ::_exit(kNoPrivilege);
    }
    ::_exit(body(dir.path()));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

LogOptions options_in(const std::string& path) {
  LogOptions options;
  options.directory = path + "/audit";
  options.writer = "main";
  options.segment_max = kib(20);
  return options;
}

int fill_and_free(const std::string& path) {
  sys::write_text(path + "/ballast", std::string(64 << 10, 'x'));
  const auto log = Log::open(options_in(path));
  if (!log) return 1;
  std::vector<std::string> acknowledged;
  const auto record = [&](Durability durability) {
    const auto judged = (*log)->record(some_verdict(), durability, soon());
    if (judged) acknowledged.push_back(std::get<Recorded>(*judged).digest());
    return judged ? std::optional<Error>() : judged.error();
  };
  std::optional<Error> error;
  for (int i = 0; i < 10'000 && !error; ++i)
    error = record(i % 2 == 0 ? Durability::kDurable : Durability::kBuffered);
  if (!error || error->code != ErrorCode::kUnavailable) return 2;
  if (error->message.find("No space left") == std::string::npos) return 3;
  // Still, and nothing of what failed stays in the way of what is whole.
  for (int i = 0; i < 20; ++i) {
    if (!record(Durability::kDurable)) return 4;
  }
  if (!verify(options_in(path).directory, {.heads = acknowledged})->ok()) return 5;
  fs::remove(path + "/ballast");
  for (int i = 0; i < 20; ++i) {
    if (record(Durability::kDurable)) return 6;
  }
  if (!(*log)->close()) return 7;
  return verify(options_in(path).directory, {.heads = acknowledged})->ok() ? 0 : 8;
}

TEST(AuditDiskFull, RefusesAndGoesOnWhenThereIsRoom) {
  const int code = on_small_disk("192k", fill_and_free);
  if (code == kNoPrivilege) GTEST_SKIP() << "needs a mount namespace (CAP_SYS_ADMIN or user namespaces)";
  EXPECT_EQ(code, 0);
}

TEST(AuditDiskFull, NoRoomForALogIsNoLog) {
  const int code = on_small_disk("8k", [](const std::string& path) {
    const auto log = Log::open(options_in(path));
    return log || log.error().code != ErrorCode::kUnavailable ? 1 : 0;
  });
  if (code == kNoPrivilege) GTEST_SKIP() << "needs a mount namespace (CAP_SYS_ADMIN or user namespaces)";
  EXPECT_EQ(code, 0);
}

TEST(AuditDiskFull, AReadOnlyFileSystemIsReadAndNotWritten) {
  const int code = on_small_disk("1m", [](const std::string& path) {
    auto log = Log::open(options_in(path));
    if (!log || !(*log)->record(some_verdict(), Durability::kDurable, soon()) || !(*log)->close()) return 1;
    log->reset();
    if (::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) < 0) return 2;
    const auto again = Log::open(options_in(path));
    if (again || again.error().code != ErrorCode::kUnavailable) return 3;
    return verify(options_in(path).directory, {})->ok() ? 0 : 4;
  });
  if (code == kNoPrivilege) GTEST_SKIP() << "needs a mount namespace (CAP_SYS_ADMIN or user namespaces)";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace casemate::audit
