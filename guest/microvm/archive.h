// An initramfs: a cpio archive of the form "newc" in memory (driver-api/early-userspace/buffer-format of the
// kernel).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace casemate::guest {

class Archive {
 public:
  // Paths are relative to the root, and a directory comes before what is in it.
  void add_directory(const std::string& path) { add(path, S_IFDIR | 0755, {}); }
  void add_file(const std::string& path, std::uint32_t mode, std::string_view content) {
    add(path, S_IFREG | mode, content);
  }
  std::string finish() {
    add("TRAILER!!!", 0, {});
    return std::move(bytes_);
  }

 private:
  void add(const std::string& path, std::uint32_t mode, std::string_view content) {
    char header[111];
    (void)std::snprintf(header, sizeof(header), "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
                        ++inode_, mode, 0U, 0U, 1U, 0U, static_cast<unsigned>(content.size()), 0U, 0U, 0U, 0U,
                        static_cast<unsigned>(path.size() + 1), 0U);
    bytes_ += header;
    bytes_ += path;
    bytes_ += '\0';
    pad();
    bytes_ += content;
    pad();
  }
  void pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0'); }

  std::string bytes_;
  std::uint32_t inode_ = 0;
};

}  // namespace casemate::guest
