// For tests of this library and of those above it: a directory of their own, and what is open.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace casemate::sys {

// The thread sanitizer makes a fork of every vfork: that a child could not execute its program is then
// seen from its exit code, 127, alone.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kVforkIsFork = true;
#elif defined(__has_feature)
inline constexpr bool kVforkIsFork = __has_feature(thread_sanitizer);
#else
inline constexpr bool kVforkIsFork = false;
#endif

// Made empty with mode 0755, removed with all that is in it.
class TestDir {
 public:
  TestDir() {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/casemate-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    if (::chmod(path_.c_str(), 0755) < 0) std::abort();
  }
  TestDir(const TestDir&) = delete;
  TestDir& operator=(const TestDir&) = delete;
  ~TestDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// How many descriptors this process has, to show that none was leaked.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir("/proc/self/fd"), ::closedir);
  while (listing && ::readdir(listing.get()) != nullptr) ++count;
  return count;
}

}  // namespace casemate::sys
