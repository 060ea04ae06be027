// For the tests of this library: a directory of their own, and a small Debian in it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/result.h"
#include "crypto/digest.h"
#include "image/recipe.h"

namespace casemate::image {

// In memory where there is a /dev/shm, so that putting a store on disk costs nothing.
class TestDir {
 public:
  TestDir() {
    std::string pattern =
        (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/casemate-XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    ::chmod(path_.c_str(), 0755);
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
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> names_in_directory(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    names.push_back(entry.path().filename());
  return names;
}

// A root and a dpkg database of a few packages.
class FakeDebian {
 public:
  explicit FakeDebian(const TestDir& dir) : root_(dir / "root"), admin_(dir / "admin") {
    std::filesystem::create_directories(admin_ + "/info");
    std::filesystem::create_directories(root_);
    write_text(admin_ + "/status", "");
  }

  // A file with its checksum.
  void add_file(const std::string& package, const std::string& path, const std::string& text,
                unsigned mode = 0644) {
    write_text(root_ + path, text);
    ::chmod((root_ + path).c_str(), mode);
    list(package, path);
    append(admin_ + "/info/" + package + ".md5sums",
           crypto::digest_hex(crypto::DigestKind::kMd5, text) + "  " + path.substr(1) + "\n");
  }
  // A file without.
  void add_unchecked_file(const std::string& package, const std::string& path, const std::string& text) {
    write_text(root_ + path, text);
    list(package, path);
  }
  void add_link(const std::string& package, const std::string& path, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::filesystem::create_symlink(target, root_ + path);
    list(package, path);
  }
  void list(const std::string& package, const std::string& path) {
    append(admin_ + "/info/" + package + ".list", path + "\n");
  }
  // `more` are further fields, each with its line feed.
  void add_package(const std::string& name, const std::string& depends = "", const std::string& more = "") {
    append(admin_ + "/status", "Package: " + name +
                                   "\nStatus: install ok installed\nArchitecture: all\nVersion: 1.0\n" +
                                   (depends.empty() ? "" : "Depends: " + depends + "\n") + more + "\n");
    list(name, "/.");
  }

  Recipe recipe(std::vector<std::string> packages) const {
    Recipe recipe;
    recipe.name = "fake";
    recipe.admin_dir = admin_;
    recipe.root = root_;
    recipe.architecture = "amd64";
    recipe.packages = std::move(packages);
    recipe.directories = {"/proc", "/vol"};
    recipe.files = {{"/etc/passwd", "box:x:1000:1000::/vol/home:/bin/sh\n"}};
    recipe.links = {{"/bin", "usr/bin"}, {"/work", "/vol/work"}};
    return recipe;
  }

  const std::string& root() const { return root_; }
  const std::string& admin() const { return admin_; }

 private:
  static void append(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::app) << text;
  }
  std::string root_;
  std::string admin_;
};

template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? std::string("(no error)") : result.error().message;
}

}  // namespace casemate::image
