// Numbers, locks and recovery of instances, in a directory of the test's own, with plain directories
// for control groups.
#include "jail/instance.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "base/limits.h"
#include "sys/test_support.h"

namespace casemate::jail {
namespace {

namespace fs = std::filesystem;
using sys::read_text;
using sys::TestDir;
using sys::write_text;

class Instances : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(dir_ / "run");
    fs::create_directory(dir_ / "groups");
  }
  std::string run(const std::string& name) const { return dir_ / ("run/" + name); }
  std::string group(const std::string& name) const { return dir_ / ("groups/" + name); }
  Result<Instance> acquire() const { return Instance::acquire(dir_ / "run"); }

  TestDir dir_;
};

TEST_F(Instances, HaveNumbersOfTheirOwnWhileTheyLive) {
  std::optional<Instance> first = *acquire();
  const Instance second = *acquire();
  EXPECT_EQ(first->number(), 0U);
  EXPECT_EQ(second.number(), 1U);
  first.reset();
  EXPECT_EQ(acquire()->number(), 0U);
  EXPECT_TRUE(fs::exists(run("0.lock")));  // for ever
}

TEST_F(Instances, RecordTheirGroupsUntilACleanEnd) {
  Instance instance = *acquire();
  ASSERT_TRUE(instance.record_bases({"/a", "/b c"}));
  EXPECT_EQ(read_text(run("0.groups")), "/a\n/b c\n");
  EXPECT_FALSE(fs::exists(run("0.new")));
  instance.release();
  EXPECT_FALSE(fs::exists(run("0.groups")));
}

TEST_F(Instances, ClearUpAfterADeadOne) {
  fs::create_directory(group("casemate.i0.b1"));
  fs::create_directory(group("casemate.i0.b2"));
  fs::create_directory(group("casemate.i1.b1"));
  write_text(run("0.groups"), dir_.path() + "/groups\n");
  const auto instance = acquire();
  ASSERT_TRUE(instance);
  EXPECT_EQ(instance->number(), 0U);
  EXPECT_EQ(instance->recovered_groups(), 2U);
  EXPECT_FALSE(fs::exists(run("0.groups")));
  EXPECT_FALSE(fs::exists(group("casemate.i0.b1")));
  EXPECT_TRUE(fs::exists(group("casemate.i1.b1")));
}

TEST_F(Instances, ClearUpAfterADeadOneThatMadeNothing) {
  write_text(run("0.groups"), "");
  write_text(run("7.groups"), dir_.path() + "/nowhere\n");
  const auto instance = acquire();
  ASSERT_TRUE(instance);
  EXPECT_EQ(instance->recovered_groups(), 0U);
  EXPECT_FALSE(fs::exists(run("0.groups")));
  EXPECT_FALSE(fs::exists(run("7.groups")));
}

TEST_F(Instances, DoNotTouchOneThatLives) {
  Instance living = *acquire();
  ASSERT_TRUE(living.record_bases({dir_ / "groups"}));
  fs::create_directory(group("casemate.i0.b1"));
  const Instance other = *acquire();
  EXPECT_EQ(other.number(), 1U);
  EXPECT_EQ(other.recovered_groups(), 0U);
  EXPECT_TRUE(fs::exists(group("casemate.i0.b1")));
  EXPECT_TRUE(fs::exists(run("0.groups")));
}

// As an earlier start has left it, so that this one does not wait.
TEST_F(Instances, PassOverANumberInQuarantine) {
  fs::create_directories(group("casemate.i0.b1/stays"));
  write_text(run("0.groups"), dir_.path() + "/groups\n");
  write_text(run("0.quarantined"), "");
  const Instant begun = now();
  for (int round = 0; round < 3; ++round) {
    const auto instance = acquire();
    ASSERT_TRUE(instance);
    EXPECT_EQ(instance->number(), 1U);
  }
  EXPECT_LT(now() - begun, milliseconds{2000});
  EXPECT_TRUE(fs::exists(run("0.groups")));
  EXPECT_TRUE(fs::exists(run("0.quarantined")));
  // The look that finds it gone brings the number back.
  fs::remove(group("casemate.i0.b1/stays"));
  EXPECT_EQ(acquire()->number(), 0U);
  EXPECT_FALSE(fs::exists(run("0.quarantined")));
}

TEST_F(Instances, TakeARecordThatCannotBeReadForAQuarantine) {
  write_text(run("0.groups"), std::string(100'000, 'x'));
  EXPECT_EQ(acquire()->number(), 1U);
  EXPECT_TRUE(fs::exists(run("0.groups")));
}

TEST_F(Instances, IgnoreFilesThatAreNone) {
  for (const std::string name : {"x.groups", ".groups", "1x.groups", "-1.groups", "99999999999.groups",
                                 "1024.groups", "0.groups.old", "README"}) {
    write_text(run(name), dir_.path() + "/groups\n");
  }
  EXPECT_EQ(acquire()->number(), 0U);
  EXPECT_TRUE(fs::exists(run("x.groups")));
}

TEST_F(Instances, DoNotFollowALinkInPlaceOfALock) {
  write_text(dir_ / "elsewhere", "");
  fs::create_symlink(dir_ / "elsewhere", run("0.lock"));
  EXPECT_FALSE(acquire());
}

TEST_F(Instances, SayWhenEveryNumberIsTaken) {
  std::vector<sys::Fd> locks;
  for (std::uint32_t number = 0; number < 20; ++number) {
    locks.push_back(*sys::open_at(AT_FDCWD, run(std::to_string(number) + ".lock"), O_RDWR | O_CREAT, 0600));
    ASSERT_EQ(::flock(locks.back().get(), LOCK_EX), 0);
  }
  EXPECT_EQ(acquire()->number(), 20U);
}

TEST_F(Instances, NeedADirectory) {
  EXPECT_FALSE(Instance::acquire(dir_ / "none"));
  write_text(dir_ / "file", "");
  EXPECT_FALSE(Instance::acquire(dir_ / "file"));
  fs::create_directory_symlink(dir_ / "run", dir_ / "link");
  EXPECT_FALSE(Instance::acquire(dir_ / "link"));
}

TEST(IdRanges, NeverOverlap) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: an ordinary user's ids come from /etc/subuid";
  std::uint64_t free_from = 1'879'048'192;  // systemd's UIDS-GIDS page: unused from here to 2147483647
  for (std::uint32_t number = 0; number < kInstancesMax; ++number) {
    for (const bool single : {false, true}) {
      const auto ids = ids_of_instance(number, single);
      ASSERT_TRUE(ids);
      EXPECT_TRUE(ids->by_root);
      EXPECT_FALSE(ids->single);  // root can always map a range
      EXPECT_GE(ids->nest_uid, free_from) << number;
      EXPECT_EQ(ids->first_uid, ids->nest_uid + 1);
      EXPECT_EQ(ids->nest_gid, ids->nest_uid);
      EXPECT_EQ(ids->first_gid, ids->first_uid);
      EXPECT_GE(ids->count, 1001U);  // a thousand slots, and the one that is made meanwhile
    }
    const auto ids = ids_of_instance(number, false);
    free_from = std::uint64_t{ids->first_uid} + ids->count;
  }
  EXPECT_LE(free_from, 2'147'483'647U);
}

// In a child, as an ordinary user. The number of the first expectation that fails.
int as_ordinary_user(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 &&
        (::setresgid(65'534, 65'534, 65'534) < 0 || ::setresuid(65'534, 65'534, 65'534) < 0)) {
      ::_exit(100);
    }
    ::_exit(body());
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 101;
  return WEXITSTATUS(status);
}

TEST(RuntimeDirectory, IsTheUsersAloneOrRefused) {
  const TestDir dir;
  fs::permissions(dir.path(), fs::perms::all);
  for (const std::string name : {"wide", "narrow", "foreign", "link", "file", "none"})
    fs::create_directory(dir / name);
  for (const std::string name : {"wide", "narrow", "link", "file", "none"})
    fs::permissions(dir / name, fs::perms::all);
  fs::create_directory(dir / "foreign/casemate");  // root's, or, for an ordinary user, his with a wide mode
  fs::permissions(dir / "foreign", fs::perms::all);
  const auto code_of = [&](const std::string& name) -> std::optional<ErrorCode> {
    const auto directory = runtime_directory((dir / name).c_str());
    if (directory) return std::nullopt;
    return directory.error().code;
  };
  EXPECT_EQ(as_ordinary_user([&] {
              if (code_of("none")) return 1;  // made
              struct stat status {};
              if (::stat((dir / "none/casemate").c_str(), &status) < 0 || (status.st_mode & 07777) != 0700)
                return 2;
              if (code_of("none")) return 3;  // and found again
              if (::mkdir((dir / "wide/casemate").c_str(), 0700) < 0) return 4;
              if (::chmod((dir / "wide/casemate").c_str(), 0750) < 0) return 5;
              if (code_of("wide") != ErrorCode::kDenied) return 6;
              if (code_of("foreign") != ErrorCode::kDenied) return 7;
              if (::symlink((dir / "none/casemate").c_str(), (dir / "link/casemate").c_str()) < 0) return 8;
              if (code_of("link") != ErrorCode::kDenied) return 9;
              const sys::Fd file(::open((dir / "file/casemate").c_str(), O_CREAT | O_WRONLY, 0700));
              if (code_of("file") != ErrorCode::kDenied) return 10;
              if (!code_of("missing")) return 11;
              return 0;
            }),
            0);
}

TEST(RuntimeDirectory, WithoutASessionHasTheUsersNumber) {
  EXPECT_EQ(as_ordinary_user([&] {
              for (const char* xdg : {static_cast<const char*>(nullptr), "", "relative"}) {
                const auto directory = runtime_directory(xdg);
                const std::string expected = "/tmp/casemate-" + std::to_string(::geteuid());
                if (directory && *directory != expected) return 1;
                if (!directory && directory.error().code != ErrorCode::kDenied)
                  return 2;  // somebody was here
              }
              (void)::rmdir(("/tmp/casemate-" + std::to_string(::geteuid())).c_str());
              return 0;
            }),
            0);
}

TEST(IdRanges, OfAnOrdinaryUserWithoutARangeNameTheRemedy) {
  EXPECT_EQ(as_ordinary_user([] {
              const auto single = ids_of_instance(5, true);
              if (!single || !single->single || single->nest_uid != ::geteuid() || single->count != 0)
                return 1;
              const auto ids = ids_of_instance(kInstancesMax - 1, false);
              if (ids) return 0;  // this user has a range
              if (ids.error().code != ErrorCode::kDenied) return 2;
              if (ids.error().message.find("usermod --add-subuids") == std::string::npos) return 3;
              return ids.error().message.find("--weaken single-id") == std::string::npos ? 4 : 0;
            }),
            0);
}

}  // namespace
}  // namespace casemate::jail
