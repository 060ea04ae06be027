#include "sys/sealed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(SealedCopy, OfWhatIsNotThereIsAnError) { EXPECT_FALSE(sealed_copy("x", "/nowhere/at/all")); }

}  // namespace
}  // namespace casemate::sys
