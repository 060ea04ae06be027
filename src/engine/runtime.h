// What a box is made of on each rung: the root that it sees, and what executes its guest.
#pragma once

#include <array>
#include <map>
#include <string>

#include "base/result.h"
#include "frame/walls.h"
#include "frame/warden.h"
#include "sys/fd.h"

namespace casemate::engine {

struct Image {
  std::string digest;  // "sha256:…"
  std::string rootfs;  // a directory of an image store
  // Of the microvm rung; empty: it was not asked for.
  std::string squashfs{};      // the same root, as a machine's disk
  std::string machine_root{};  // of the box that the machine runs in: the rootfs of the image "microvm"
};

struct Runtime {
  frame::Rung rung = frame::Rung::kJail;
  std::string box_root;  // a directory
  // What the box has as its descriptors from 4 on: gvisor: runsc; microvm: the disk. Live as long as its
  // Runtimes.
  std::array<int, frame::kRuntimeFilesMax> files = {-1, -1, -1};
};

using RuntimeFiles = std::array<int, frame::kRuntimeFilesMax>;
// For one box: of a machine, puts a file description of its own in the place of the disk that all share, for
// as long as what is returned lives. Of other rungs: nothing. A QEMU whose guest has broken it could lock one
// that is shared, or change its flags (fcntl(2), F_SETFL: with O_DIRECT reads of any place fail), to the harm
// of all other machines. Errors: system.
Result<sys::Fd> own_disk(frame::Rung rung, RuntimeFiles& files);

// One thread.
class Runtimes {
 public:
  explicit Runtimes(std::string runsc) : runsc_path_(std::move(runsc)) {}
  // Errors: unavailable, system (a part cannot be read).
  Result<Runtime> of(frame::Rung rung, const Image& image);

 private:
  std::string runsc_path_;
  sys::Fd runsc_;                         // a copy of it, when it was needed
  std::map<std::string, sys::Fd> disks_;  // by path
};

}  // namespace casemate::engine
