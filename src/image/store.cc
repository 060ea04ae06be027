#include "image/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "image/store_files.h"
#include "image/tree.h"

namespace casemate::image {
namespace {

constexpr std::string_view kSystemStore = "/var/lib/casemate/images";
constexpr std::string_view kBelowData = "/casemate/images";

tl::unexpected<Error> unavailable(const std::string& what) { return fail(ErrorCode::kUnavailable, what); }

std::string rebuild_advice(std::string_view name) {
  return "; build it again with: casemate image build --force" +
         (name.empty() ? "" : " " + std::string(name)) + ", or import it again";
}

}  // namespace

bool is_image_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kImageNameMax && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; });
}

std::vector<std::string> store_paths(bool is_root, std::string_view xdg_data_home, std::string_view home) {
  std::vector<std::string> paths;
  // The XDG specification: a relative path is invalid and to be ignored.
  if (!is_root && xdg_data_home.starts_with('/')) {
    paths.push_back(std::string(xdg_data_home).append(kBelowData));
  } else if (!is_root && home.starts_with('/')) {
    paths.push_back(std::string(home).append("/.local/share").append(kBelowData));
  }
  paths.emplace_back(kSystemStore);
  return paths;
}

std::string ImageInfo::store() const {
  return path.substr(0, path.size() - std::min(path.size(), directory_of(digest).size() + 1));
}

Result<Store> Store::open(const std::string& path, StoreMode mode) {
  if (path.empty()) return fail(ErrorCode::kInvalid, "the image store's path is empty");
  std::string absolute = path;
  if (path.front() != '/') {
    const std::unique_ptr<char, void (*)(void*)> here(::getcwd(nullptr, 0), std::free);
    if (!here) return fail_errno("getcwd");
    absolute = std::string(here.get()) + "/" + path;
  }
  if (mode == StoreMode::kWrite) TRY(make_store(absolute));
  sys::Fd directory(::open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    const int error = errno;
    if (error == ENOENT)
      return unavailable("there is no image store at " + absolute + "; make one with: casemate image build");
    return unavailable(
        fail_errno("the image store " + absolute + " cannot be opened", error).value().message);
  }
  TRY(check_safe(directory.get(), "", absolute));
  return Store(std::move(absolute), std::move(directory));
}

Result<std::string> Store::digest_of_name(std::string_view name) const {
  const std::string file = "names/" + std::string(name);
  const sys::Fd fd(::openat(directory_.get(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT)
      return fail(ErrorCode::kNotFound, "there is no image '" + std::string(name) + "' in " + path_);
    return unavailable(path_ + "/" + file + " cannot be opened" + rebuild_advice(name));
  }
  TRY(check_safe(fd.get(), "", path_ + "/" + file));
  const auto read = sys::read_file(fd, kNameFileMax);
  if (!read)
    return unavailable(path_ + "/" + file + " cannot be read: " + read.error().message +
                       rebuild_advice(name));
  const std::string& text = *read;
  if (text.empty() || text.back() != '\n' ||
      !is_image_digest(std::string_view(text).substr(0, text.size() - 1))) {
    return unavailable(path_ + "/" + file + " does not hold a digest" + rebuild_advice(name));
  }
  return text.substr(0, text.size() - 1);
}

Result<ImageInfo> Store::find(std::string_view name_or_digest) const {
  ImageInfo info;
  TRY(check_safe(directory_.get(), "sha256", path_ + "/sha256"));
  if (is_image_digest(name_or_digest)) {
    info.digest = name_or_digest;
  } else if (is_image_name(name_or_digest)) {
    info.name = name_or_digest;
    TRY(check_safe(directory_.get(), "names", path_ + "/names"));
    info.digest = TRY(digest_of_name(name_or_digest));
  } else {
    return fail(ErrorCode::kInvalid, "'" + escape(name_or_digest.substr(0, 100)) +
                                         "' is neither the name of an image nor a digest");
  }
  const std::string relative = directory_of(info.digest);
  info.path = path_ + "/" + relative;
  if (::faccessat(directory_.get(), relative.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
    if (info.name.empty())
      return fail(ErrorCode::kNotFound, "there is no image " + info.digest + " in " + path_);
    return unavailable("the image '" + info.name + "' is missing from " + path_ + rebuild_advice(info.name));
  }
  TRY(check_safe(directory_.get(), relative, info.path));
  struct stat root {};
  if (::fstatat(directory_.get(), (relative + "/rootfs").c_str(), &root, AT_SYMLINK_NOFOLLOW) < 0) {
    return unavailable("the image at " + info.path + " has no rootfs" + rebuild_advice(info.name));
  }
  TRY(check_safe_directory(root, info.rootfs()));
  return info;
}

Result<StoredImage> find_image(const std::vector<std::string>& paths, std::string_view name_or_digest) {
  std::optional<Error> first;
  for (const std::string& path : paths) {
    if (::access(path.c_str(), F_OK) < 0 && errno == ENOENT && path != paths.back()) continue;
    auto store = Store::open(path, StoreMode::kRead);
    auto info = store ? store->find(name_or_digest) : Result<ImageInfo>(tl::unexpected<Error>(store.error()));
    if (info) return StoredImage{std::move(*store), std::move(*info)};
    if (!first) first = info.error();
    if (first->code != ErrorCode::kNotFound) break;
  }
  CHECK(first.has_value());  // store_paths() is never empty
  return tl::unexpected<Error>(std::move(*first));
}

Result<About> Store::about(const ImageInfo& info) const {
  auto text = sys::read_file_at(directory_.get(), directory_of(info.digest) + "/about", kAboutBytesMax);
  if (!text)
    return unavailable("the image at " + info.path + ": " + text.error().message + rebuild_advice(info.name));
  auto about = parse_about(*text);
  if (about && about->digest != info.digest)
    about = fail(ErrorCode::kInvalid, "about: it is another image's");
  if (!about)
    return unavailable("the image at " + info.path + ": " + about.error().message +
                       rebuild_advice(info.name));
  return about;
}

Result<std::vector<ListedImage>> Store::list() const {
  std::vector<std::string> names;
  TRY(names_below(directory_, "names", kImagesMax, names));
  std::vector<ListedImage> images;
  for (const std::string& name : names) {
    if (!is_image_name(name)) continue;
    ListedImage item;
    item.info.name = name;
    auto info = find(name);
    if (!info) {
      item.fault = info.error().message;
    } else {
      item.info = *info;
      auto known = about(*info);
      if (known) {
        item.about = std::move(*known);
      } else {
        item.fault = known.error().message;
      }
    }
    images.push_back(std::move(item));
  }
  return images;
}

Result<VerifyReport> Store::verify(const ImageInfo& info, Depth depth, unsigned threads,
                                   Progress& progress) const {
  VerifyReport report;
  const std::string relative = directory_of(info.digest);
  const auto fault = [&](std::string detail) {
    report.faults.push_back({FaultKind::kManifest, "manifest", std::move(detail)});
    return report;
  };
  progress.stage("verify");
  const auto text = sys::read_file_at(directory_.get(), relative + "/manifest", kManifestBytesMax);
  if (!text) return fault(text.error().message);
  if (image_digest(*text) != info.digest)
    return fault("it does not have the image's digest: it was changed or cut short");
  const auto manifest = parse_manifest(*text);
  if (!manifest) return fault(manifest.error().message);
  const sys::Fd root(::openat(directory_.get(), (relative + "/rootfs").c_str(),
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return fail_errno("open " + info.rootfs());
  const Scan scan = TRY(scan_tree(root, depth, threads, progress));
  report.faults = compare(*manifest, scan.manifest, depth);
  report.faults.insert(report.faults.end(), scan.oddities.begin(), scan.oddities.end());
  for (const Entry& entry : scan.manifest.entries) {
    report.files += entry.type == EntryType::kFile ? 1 : 0;
    report.bytes += entry.size;
  }
  return report;
}

}  // namespace casemate::image
