#include "image/squashfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/program.h"
#include "image/store_files.h"

namespace casemate::image {
namespace {

constexpr const char* kName = "rootfs.squashfs";

tl::unexpected<Error> unavailable(const std::string& what) { return fail(ErrorCode::kUnavailable, what); }

// What a person calls the image.
std::string shown(const ImageInfo& image) { return image.name.empty() ? image.digest : image.name; }

// Whether it is there. Errors: unavailable (something else is, or others can write it).
Result<bool> is_there(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) {
    if (errno == ENOENT) return false;
    return unavailable(fail_errno(path).value().message);
  }
  if (!S_ISREG(status.st_mode)) return unavailable(path + " is no file: it is not used; remove it");
  TRY(check_safe(status, path));
  return true;
}

// The message of somebody who cannot write the store names the one who can.
Error not_writable(const ImageInfo& image, const Error& error) {
  struct stat status {};
  const bool known = ::stat(image.store().c_str(), &status) == 0;
  if (error.code != ErrorCode::kUnavailable || !known || status.st_uid == ::geteuid()) return error;
  const std::string who = status.st_uid == 0 ? "root" : "user id " + std::to_string(status.st_uid);
  return {ErrorCode::kUnavailable, "the image " + shown(image) + " has no squashfs yet, and only " + who +
                                       " can make it: casemate image " + "squashfs --store " + image.store() +
                                       " " + shown(image)};
}

// mksquashfs takes the time from its environment otherwise, and would rather leave a file empty than fail.
std::vector<std::string> command_line(const ImageInfo& image, const SquashfsOptions& options) {
  const char* const image_time = "315532800";  // 1980-01-01, as all files of images
  return {options.program, image.rootfs(), kName,          "-comp",      "lz4",
          "-all-root",     "-no-xattrs",   "-noappend",    "-mkfs-time", image_time,
          "-all-time",     image_time,     "-no-progress", "-quiet",     "-exit-on-error"};
}

Result<void> check_whole(const Store& store, const ImageInfo& image, const SquashfsOptions& options,
                         Progress& progress) {
  const VerifyReport report = TRY(store.verify(image, Depth::kFull, options.threads, progress));
  if (report.ok()) return {};
  return unavailable("the image " + shown(image) + " is damaged; casemate image verify " + shown(image) +
                     " says more");
}

Result<void> make(const ImageInfo& image, const SquashfsOptions& options, const sys::Fd& draft) {
  const auto made = run_beside({command_line(image, options), {"LC_ALL=C", "PATH=/usr/bin:/bin"}, &draft},
                               options.deadline);
  if (!made) return fail_with_context(made.error(), "the squashfs of " + shown(image) + " cannot be made");
  const sys::Fd file = TRY(sys::open_at(draft.get(), kName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (::fchmod(file.get(), 0644) < 0) return fail_errno("chmod rootfs.squashfs");
  if (::fsync(file.get()) < 0) return fail_errno("fsync rootfs.squashfs");
  return {};
}

}  // namespace

Result<std::string> ensure_squashfs(const ImageInfo& image, const SquashfsOptions& options,
                                    Progress& progress) {
  std::string path = image.path + "/" + kName;
  if (TRY(is_there(path))) return path;
  if (::access(options.program.c_str(), X_OK) < 0) {
    return unavailable(
        "there is no " + options.program +
        ", which makes what a virtual machine starts from; install it with: apt-get install -y "
        "squashfs-tools");
  }
  const Store store = TRY(Store::open(image.store(), StoreMode::kRead));
  auto writer = StoreWriter::lock(store, options.deadline, progress);
  if (!writer) return tl::unexpected<Error>(not_writable(image, writer.error()));
  if (TRY(is_there(path))) return path;  // made by whoever held the lock
  TRY(check_whole(store, image, options, progress));
  const sys::Fd draft = TRY(writer->make_draft());
  progress.stage("pack " + shown(image) + " for virtual machines");
  TRY(make(image, options, draft));
  TRY(writer->publish_beside(image, kName));
  return path;
}

}  // namespace casemate::image
