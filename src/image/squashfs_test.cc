#include "image/squashfs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "crypto/sha256.h"
#include "image/build.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

class SquashfsTest : public testing::Test {
 protected:
  SquashfsTest() : debian_(dir_) {
    debian_.add_package("tool");
    debian_.add_file("tool", "/bin/tool", "#!/bin/sh\n", 0755);
    for (int i = 0; i < 50; ++i) {
      debian_.add_file("tool", "/usr/share/tool/" + std::to_string(i),
                       std::string(20'000, static_cast<char>('a' + i)));
    }
    image_ = build_in("store");
  }

  ImageInfo build_in(const std::string& name) const {
    const auto store = Store::open(dir_ / name, StoreMode::kWrite);
    if (!store) throw std::runtime_error(message_of(store));
    NoProgress progress;
    const auto built = build(*store, debian_.recipe({"tool"}), {}, progress);
    if (!built) throw std::runtime_error(message_of(built));
    return built->image;
  }
  Result<std::string> ensure(const SquashfsOptions& options = {}) const {
    NoProgress progress;
    return ensure_squashfs(image_, options, progress);
  }
  // One that says on its way what it does.
  SquashfsOptions with_program(const std::string& script) const {
    write_text(dir_ / "mksquashfs", "#!/bin/sh\n" + script + "\n");
    ::chmod((dir_ / "mksquashfs").c_str(), 0755);
    SquashfsOptions options;
    options.program = dir_ / "mksquashfs";
    return options;
  }
  bool nothing_made() const {
    return names_in_directory(dir_ / "store/tmp").empty() && names_in_directory(image_.path).size() == 3;
  }

  TestDir dir_;
  FakeDebian debian_;
  ImageInfo image_;
};

TEST_F(SquashfsTest, IsMadeOnce) {
  const auto path = ensure();
  ASSERT_TRUE(path.has_value()) << message_of(path);
  EXPECT_EQ(*path, image_.path + "/rootfs.squashfs");
  EXPECT_TRUE(read_text(*path).starts_with("hsqs"));
  struct stat status {};
  ASSERT_EQ(::lstat(path->c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | 0644U);
  EXPECT_EQ(status.st_uid, ::geteuid());
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());

  const auto again = ensure(with_program("exit 1"));
  ASSERT_TRUE(again.has_value()) << message_of(again);
  struct stat later {};
  ASSERT_EQ(::lstat(again->c_str(), &later), 0);
  EXPECT_EQ(later.st_ino, status.st_ino);
}

TEST_F(SquashfsTest, TheSameRootGivesTheSameBytes) {
  const auto one = ensure();
  ASSERT_TRUE(one.has_value()) << message_of(one);
  image_ = build_in("other");
  ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1);  // which mksquashfs would take
  const auto two = ensure();
  ::unsetenv("SOURCE_DATE_EPOCH");
  ASSERT_TRUE(two.has_value()) << message_of(two);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(crypto::sha256_hex(read_text(*one)), crypto::sha256_hex(read_text(*two)));
}

TEST_F(SquashfsTest, TheStoreDoesNotTripOverIt) {
  ASSERT_TRUE(ensure().has_value());
  const auto store = Store::open(dir_ / "store", StoreMode::kRead);
  ASSERT_TRUE(store.has_value());
  NoProgress progress;
  EXPECT_TRUE(store->verify(image_, Depth::kFull, 2, progress)->ok());
  EXPECT_TRUE(store->about(*store->find("fake")).has_value());
  EXPECT_EQ(store->list()->size(), 1U);

  // A build that finds a whole image keeps it and what belongs to it; a damaged one goes with its squashfs.
  BuildOptions force;
  force.force = true;
  ASSERT_TRUE(build(*store, debian_.recipe({"tool"}), force, progress).has_value());
  EXPECT_TRUE(std::filesystem::exists(image_.path + "/rootfs.squashfs"));
  write_text(image_.rootfs() + "/etc/passwd", "changed");
  ASSERT_TRUE(build(*store, debian_.recipe({"tool"}), force, progress).has_value());
  EXPECT_FALSE(std::filesystem::exists(image_.path + "/rootfs.squashfs"));
  EXPECT_TRUE(nothing_made());
}

TEST_F(SquashfsTest, AFailureLeavesNothing) {
  const auto failed =
      ensure(with_program("head -c 1000 /dev/zero > \"$2\"; echo 'FATAL ERROR: no space' >&2; exit 1"));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(message_of(failed).find("the squashfs of fake cannot be made: "), std::string::npos)
      << message_of(failed);
  EXPECT_NE(message_of(failed).find("FATAL ERROR: no space"), std::string::npos) << message_of(failed);
  EXPECT_TRUE(nothing_made());

  SquashfsOptions slow = with_program("exec sleep 100");
  slow.deadline = Deadline::in(milliseconds{100});
  EXPECT_EQ(ensure(slow).error().code, ErrorCode::kDeadline);
  EXPECT_TRUE(nothing_made());
  EXPECT_FALSE(ensure(with_program("exit 0")).has_value()) << "it says that it made one and has not";
  EXPECT_TRUE(nothing_made());
}

TEST_F(SquashfsTest, HalfAFileOfAKilledOneIsNotTaken) {
  // Writes half of it, says so, and goes on for ever.
  const SquashfsOptions options =
      with_program("echo half > \"$2\"; echo $$ > " + (dir_ / "half") + "; exec sleep 100");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(ensure(options).has_value() ? 0 : 1);
  const Deadline patience = Deadline::in(milliseconds{30'000});
  while (read_text(dir_ / "half").empty() && !patience.passed(now())) std::this_thread::yield();
  const pid_t program = std::stoi(read_text(dir_ / "half"));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(names_in_directory(image_.path).size(), 3U);
  // It ends with the one who started it.
  const std::string command = "/proc/" + std::to_string(program) + "/cmdline";  // empty of one that is dead
  while (!read_text(command).empty() && !patience.passed(now())) std::this_thread::yield();
  EXPECT_FALSE(patience.passed(now()));

  const auto path = ensure();
  ASSERT_TRUE(path.has_value()) << message_of(path);
  EXPECT_TRUE(read_text(*path).starts_with("hsqs"));
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());
}

TEST_F(SquashfsTest, SaysWhatIsMissing) {
  SquashfsOptions options;
  options.program = dir_ / "absent";
  const auto none = ensure(options);
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(message_of(none).find("apt-get install -y squashfs-tools"), std::string::npos)
      << message_of(none);
  EXPECT_TRUE(nothing_made());
}

TEST_F(SquashfsTest, SaysWhoCanMakeItInAStoreOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) < 0) ::_exit(9);
    const auto path = ensure();
    const bool says = !path && path.error().code == ErrorCode::kUnavailable &&
                      path.error().message ==
                          "the image fake has no squashfs yet, and only root can make it: casemate "
                          "image squashfs --store " +
                              (dir_ / "store") + " fake";
    if (!says) std::fprintf(stderr, "%s\n", message_of(path).c_str());
    ::_exit(says ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // Where it is made it can be used by all.
  ASSERT_TRUE(ensure().has_value());
}

TEST_F(SquashfsTest, OneThatOthersCanWriteIsNotUsed) {
  const auto path = ensure();
  ASSERT_TRUE(path.has_value()) << message_of(path);
  ::chmod(path->c_str(), 0666);
  EXPECT_NE(message_of(ensure()).find("can be written by others"), std::string::npos) << message_of(ensure());
  std::filesystem::remove(*path);
  std::filesystem::create_symlink("/etc/passwd", *path);
  EXPECT_NE(message_of(ensure()).find("is no file"), std::string::npos) << message_of(ensure());
}

TEST_F(SquashfsTest, ADamagedImageIsNotPacked) {
  write_text(image_.rootfs() + "/etc/passwd", "changed");
  const auto path = ensure();
  EXPECT_EQ(path.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(message_of(path).find("the image fake is damaged"), std::string::npos) << message_of(path);
  EXPECT_TRUE(nothing_made());
}

TEST_F(SquashfsTest, TwoWhoAskAtOnceGetOne) {
  Result<std::string> one = fail(ErrorCode::kInternal, "did not run");
  Result<std::string> two = fail(ErrorCode::kInternal, "did not run");
  std::thread first([&] { one = ensure(); });
  std::thread second([&] { two = ensure(); });
  first.join();
  second.join();
  ASSERT_TRUE(one.has_value()) << message_of(one);
  ASSERT_TRUE(two.has_value()) << message_of(two);
  EXPECT_EQ(*one, *two);
  EXPECT_TRUE(names_in_directory(dir_ / "store/tmp").empty());
}

}  // namespace
}  // namespace casemate::image
