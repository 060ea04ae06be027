// Files of the guest's layer, copied into the box's: from where products are collected, on every rung.
#pragma once

#include <string>
#include <string_view>

#include "microvm/channel.h"

namespace casemate::guest {

// One file at a time. Whatever goes wrong leaves it out, and the engine finds that it is not there.
class LayerFile {
 public:
  // `layer`: the box's, a directory.
  explicit LayerFile(const std::string& layer = "/vol");
  ~LayerFile();
  LayerFile(const LayerFile&) = delete;
  LayerFile& operator=(const LayerFile&) = delete;

  // `path` is beneath the layer, without "..": frame/layer_path.h.
  void begin(std::string path);
  // Once for each file. A size that this process may not write (RLIMIT_FSIZE) leaves it out: the kernel would
  // end whoever tries (SIGXFSZ).
  void take_kind(const FileKind& kind);
  void take_data(std::string_view piece);
  // `failed`: the guest could not give all of it.
  void end(bool failed);

 private:
  int layer_;
  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace casemate::guest
