#include "sys/sealed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace casemate::sys {
namespace {

TEST(SealedBytes, CanBeReadAndNotChanged) {
  const auto sealed = sealed_bytes("test", "what it is");
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_EQ(read_file_at(AT_FDCWD, "/proc/self/fd/" + std::to_string(sealed->get()), 100).value(),
            "what it is");
  const Fd again(::open(("/proc/self/fd/" + std::to_string(sealed->get())).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(!again || ::write(again.get(), "x", 1) < 0);
  EXPECT_TRUE(!again || ::ftruncate(again.get(), 0) < 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, sealed->get(), 0), MAP_FAILED);
}

TEST(SealedCopy, IsAFileOfItsOwnThatCanBeExecuted) {
  const auto sealed = sealed_copy("true", "/bin/true");
  ASSERT_TRUE(sealed) << sealed.error().message;
  struct stat original {
  }, copy{};
  ASSERT_EQ(::stat("/bin/true", &original), 0);
  ASSERT_EQ(::fstat(sealed->get(), &copy), 0);
  EXPECT_EQ(copy.st_size, original.st_size);
  EXPECT_NE(copy.st_dev, original.st_dev);
  const pid_t pid = ::fork();
  if (pid == 0) {
    char name[] = "true";
    char* const arguments[] = {name, nullptr};
    char* const environment[] = {nullptr};
    ::fexecve(sealed->get(), arguments, environment);
    ::_exit(9);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(Seal, NobodyWritesAnyMoreAndWhatWasWrittenIsThere) {
  auto memory = make_memory("test", kib(8));
  ASSERT_TRUE(memory) << memory.error().message;
  struct stat status {};
  ASSERT_EQ(::fstat(memory->get(), &status), 0);
  EXPECT_EQ(status.st_size, 8192);
  const Fd other(::fcntl(memory->get(), F_DUPFD_CLOEXEC, 0));  // as a box has it that wrote it
  ASSERT_EQ(::pwrite(other.get(), "written", 7, 4096), 7);
  const auto sealed = seal(std::move(*memory));
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_EQ(::fcntl(sealed->get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  for (const int fd : {sealed->get(), other.get()}) {
    EXPECT_LT(::pwrite(fd, "x", 1, 0), 0);
    EXPECT_LT(::ftruncate(fd, 0), 0);
    EXPECT_LT(::ftruncate(fd, 1 << 20), 0);
    EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  }
  char bytes[7] = {};
  ASSERT_EQ(::pread(sealed->get(), bytes, sizeof(bytes), 4096), 7);
  EXPECT_EQ(std::string(bytes, 7), "written");
  // Changes of one who maps it for itself stay its own.
  void* own = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, sealed->get(), 0);
  ASSERT_NE(own, MAP_FAILED);
  static_cast<char*>(own)[4096] = 'X';
  ASSERT_EQ(::pread(sealed->get(), bytes, 1, 4096), 1);
  EXPECT_EQ(bytes[0], 'w');
  ::munmap(own, 8192);
}

TEST(Seal, WhatSomebodyHasMappedForWritingIsNotSealed) {
  auto memory = make_memory("test", kib(4));
  ASSERT_TRUE(memory);
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory->get(), 0);
  ASSERT_NE(shared, MAP_FAILED);
  const Fd again(::fcntl(memory->get(), F_DUPFD_CLOEXEC, 0));
  const auto refused = seal(std::move(*memory));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, EBUSY);
  ::munmap(shared, 4096);
  EXPECT_TRUE(seal(Fd(::fcntl(again.get(), F_DUPFD_CLOEXEC, 0))));
}

// One who has locked it or whose place in it has moved must not be noticed by others.
TEST(OpenedAgain, IsAFileDescriptionOfItsOwn) {
  auto memory = make_memory("test", Bytes{0});
  ASSERT_TRUE(memory);
  ASSERT_EQ(::write(memory->get(), "0123456789", 10), 10);
  const auto sealed = seal(std::move(*memory));
  ASSERT_TRUE(sealed);
  const auto one = opened_again(*sealed), two = opened_again(*sealed);
  ASSERT_TRUE(one && two);
  char byte = 0;
  ASSERT_EQ(::lseek(one->get(), 5, SEEK_SET), 5);
  ASSERT_EQ(::read(two->get(), &byte, 1), 1);
  EXPECT_EQ(byte, '0');
  ASSERT_EQ(::read(one->get(), &byte, 1), 1);
  EXPECT_EQ(byte, '5');
  ASSERT_EQ(::flock(one->get(), LOCK_EX), 0);
  EXPECT_NE(::flock(two->get(), LOCK_EX | LOCK_NB), 0) << "each has its own lock";
  ASSERT_EQ(::fcntl(one->get(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(::fcntl(two->get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(two->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(OpenedAgain, OfWhatIsNotOpenIsAnError) { EXPECT_FALSE(opened_again(Fd())); }

TEST(SealedCopy, OfWhatIsNotThereIsAnError) { EXPECT_FALSE(sealed_copy("x", "/nowhere/at/all")); }

}  // namespace
}  // namespace casemate::sys
