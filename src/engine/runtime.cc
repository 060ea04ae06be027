#include "engine/runtime.h"

#include <fcntl.h>

#include "sys/sealed.h"

namespace casemate::engine {

Result<sys::Fd> own_disk(frame::Rung rung, RuntimeFiles& files) {
  if (rung != frame::Rung::kMicrovm) return sys::Fd();
  sys::Fd disk = TRY(sys::open_at(AT_FDCWD, "/proc/self/fd/" + std::to_string(files[0]), O_RDONLY));
  files[0] = disk.get();
  return disk;
}

Result<Runtime> Runtimes::of(frame::Rung rung, const Image& image) {
  Runtime runtime;
  runtime.rung = rung;
  runtime.box_root = image.rootfs;
  switch (rung) {
    case frame::Rung::kJail: return runtime;
    case frame::Rung::kGvisor:
      // A copy: boxes share no page with a program of the host's.
      if (!runsc_) runsc_ = TRY(sys::sealed_copy("runsc", runsc_path_));
      runtime.files[0] = runsc_.get();
      return runtime;
    case frame::Rung::kMicrovm: break;
  }
  if (image.squashfs.empty() || image.machine_root.empty())
    return fail(ErrorCode::kUnavailable, "the image was not made for a microvm");
  auto disk = disks_.find(image.squashfs);
  if (disk == disks_.end()) {
    sys::Fd opened = TRY(sys::open_at(AT_FDCWD, image.squashfs, O_RDONLY));
    disk = disks_.emplace(image.squashfs, std::move(opened)).first;
  }
  runtime.box_root = image.machine_root;
  runtime.files[0] = disk->second.get();
  return runtime;
}

}  // namespace casemate::engine
