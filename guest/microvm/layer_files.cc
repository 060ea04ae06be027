#include "microvm/layer_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace casemate::guest {

LayerFile::LayerFile(const std::string& layer)
    : layer_(::open(layer.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

LayerFile::~LayerFile() {
  end(true);
  if (layer_ >= 0) (void)::close(layer_);
}

void LayerFile::begin(std::string path) {
  end(true);
  path_ = std::move(path);
}

// What is no regular file is made as one that is none either, so that it is refused for that. Of what the
// guest does not have nothing is made: a directory of its path may be another product's name.
void LayerFile::take_kind(const FileKind& kind) {
  const char* path = path_.c_str();
  for (std::size_t at = 0; (at = path_.find('/', at)) != std::string::npos; ++at)
    (void)::mkdirat(layer_, path_.substr(0, at).c_str(), 0755);
  size_ = kind.size;
  if (S_ISDIR(kind.mode)) {
    (void)::mkdirat(layer_, path, 0755);
  } else if (S_ISLNK(kind.mode)) {
    (void)!::symlinkat("of-the-guest", layer_, path);
  } else if (!S_ISREG(kind.mode)) {
    (void)::mkfifoat(layer_, path, 0600);
  }
  rlimit writable{};
  if (!S_ISREG(kind.mode) || ::getrlimit(RLIMIT_FSIZE, &writable) < 0 || size_ > writable.rlim_cur) return;
  file_ = ::openat(layer_, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file_ < 0 || kind.links == 1) return;
  if (::linkat(layer_, path, layer_, (path_ + ".second-name").c_str(), 0) < 0) end(true);
}

void LayerFile::take_data(std::string_view piece) {
  std::uint64_t at = 0;
  if (file_ < 0 || piece.size() < sizeof(at)) return;
  std::memcpy(&at, piece.data(), sizeof(at));
  piece.remove_prefix(sizeof(at));
  if (at > size_ || piece.size() > size_ - at) return end(true);
  while (!piece.empty()) {
    const ssize_t put = ::pwrite(file_, piece.data(), piece.size(), static_cast<off_t>(at));
    if (put <= 0) return end(true);
    piece.remove_prefix(static_cast<std::size_t>(put));
    at += static_cast<std::uint64_t>(put);
  }
}

void LayerFile::end(bool failed) {
  if (file_ < 0) return;
  if (!failed && ::ftruncate(file_, static_cast<off_t>(size_)) < 0) failed = true;
  (void)::close(file_);
  file_ = -1;
  if (failed) (void)::unlinkat(layer_, path_.c_str(), 0);
}

}  // namespace casemate::guest
