#include "ensure_image.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "image/build.h"
#include "image/recipe.h"
#include "image/squashfs.h"
#include "terminal_progress.h"

namespace casemate {
namespace {

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::vector<std::string> stores(const std::string& store) {
  if (!store.empty()) return {store};
  return image::store_paths(::geteuid() == 0, variable("XDG_DATA_HOME"), variable("HOME"));
}

}  // namespace

bool has_image(const std::string& name, const std::string& store) {
  return image::find_image(stores(store), name).has_value();
}

Result<image::ImageInfo> ensure_image(const std::string& name, const std::string& store) {
  const std::vector<std::string> paths = stores(store);
  for (const std::string& path : paths) {
    if (::access(path.c_str(), F_OK) != 0) continue;
    const image::Store opened = TRY(image::Store::open(path, image::StoreMode::kRead));
    auto found = opened.find(name);
    if (found || found.error().code != ErrorCode::kNotFound) return found;
  }
  const auto recipe = image::find_recipe(name);
  if (!recipe) {
    return fail(ErrorCode::kNotFound,
                "there is no image '" + name + "'; `casemate image list` shows those that there are");
  }
  std::fprintf(stderr, "casemate: the image '%s' is made now, once; this takes about a minute\n",
               name.c_str());
  TerminalProgress progress;
  const image::Store writable = TRY(image::Store::open(paths.front(), image::StoreMode::kWrite));
  image::BuildOptions options;
  options.now_s = ::time(nullptr);
  return TRY(image::build(writable, *recipe, options, progress)).image;
}

Result<engine::Image> ensure_parts(const image::ImageInfo& image, const std::string& store,
                                   frame::Rung rung) {
  engine::Image parts{image.digest, image.rootfs()};
  if (rung != frame::Rung::kMicrovm) return parts;
  TerminalProgress progress;
  parts.squashfs = TRY(image::ensure_squashfs(image, {}, progress));
  parts.machine_root = TRY(ensure_image("microvm", store)).rootfs();
  return parts;
}

}  // namespace casemate
