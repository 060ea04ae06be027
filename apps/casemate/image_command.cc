#include "image_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "image/build.h"
#include "image/import.h"
#include "image/recipe.h"
#include "image/squashfs.h"
#include "image/store.h"
#include "image_options.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "terminal_progress.h"

namespace casemate {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFault = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnavailable = 4;
constexpr std::size_t kFaultsShownMax = 100;

int report(const Error& error) {
  std::fprintf(stderr, "casemate image: %s\n", json::escape_control(error.message).c_str());
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitUnavailable;
}

int usage(const std::string& what) {
  std::fprintf(stderr, "casemate image: %s; see casemate image --help\n", json::escape_control(what).c_str());
  return kExitUsage;
}

std::string utc(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  std::array<char, 32> buffer{};
  if (::gmtime_r(&time, &parts) == nullptr) return "?";
  (void)std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);  // it fits
  return buffer.data();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> stores_to_search(const ImageArguments& arguments) {
  if (arguments.store) return {*arguments.store};
  return image::store_paths(::geteuid() == 0, environment("XDG_DATA_HOME"), environment("HOME"));
}

Result<image::StoredImage> find(const ImageArguments& arguments) {
  return image::find_image(stores_to_search(arguments), arguments.name);
}

std::int64_t seconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

unsigned threads() { return std::clamp(std::thread::hardware_concurrency(), 1U, 4U); }

int run_build(const ImageArguments& arguments) {
  auto recipe = image::find_recipe(arguments.name);
  if (!recipe) {
    return report(fail(ErrorCode::kInvalid,
                       "there is no recipe '" + arguments.name + "'; there are " + image::recipe_names())
                      .value());
  }
  if (arguments.kernel && !recipe->unpacked) return usage("the image " + recipe->name + " has no kernel");
  if (arguments.kernel && arguments.kernel->empty()) return usage("--kernel names no file");
  if (arguments.kernel) recipe->unpacked->given = *arguments.kernel;
  const Instant start = now();
  const auto store = image::Store::open(stores_to_search(arguments).front(), image::StoreMode::kWrite);
  if (!store) return report(store.error());
  image::BuildOptions options;
  options.force = arguments.force;
  options.threads = threads();
  options.now_s = seconds_since_1970();
  const auto built = [&] {
    TerminalProgress progress;
    return image::build(*store, *recipe, options, progress);
  }();
  if (!built) return report(built.error());
  const double seconds = std::chrono::duration<double>(now() - start).count();
  std::printf("%s %s\n%s, %llu files, %zu packages, %s in %.1f s\n", built->about.name.c_str(),
              built->image.digest.c_str(), format_bytes(Bytes{built->about.size_bytes}).c_str(),
              static_cast<unsigned long long>(built->about.files), built->about.packages.size(),
              built->reused ? "up to date, checked" : "built", seconds);
  return kExitOk;
}

// The archive, and what to call its image. A name that nobody asked for takes no other image's place, and
// least of all that of an image that boxes run in without being told to.
Result<image::ImportOptions> import_options(const ImageArguments& arguments) {
  image::ImportOptions options;
  options.threads = threads();
  options.now_s = seconds_since_1970();
  options.replace = arguments.new_name.has_value();
  options.name = arguments.new_name.value_or(image::image_name_of(arguments.file));
  if (!options.replace && (options.name.empty() || image::find_recipe(options.name))) {
    return fail(ErrorCode::kInvalid, "say with --name what the image shall be called");
  }
  return options;
}

Result<sys::Fd> open_archive(const std::string& path) {
  auto opened =
      path == "-" ? Result<sys::Fd>(sys::Fd(::dup(STDIN_FILENO))) : sys::open_at(AT_FDCWD, path, O_RDONLY);
  if (!opened) return fail(ErrorCode::kInvalid, opened.error().message);
  struct stat status {};
  if (::fstat(opened->get(), &status) < 0) return fail_errno(path);
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::kInvalid, path + " is a directory, not an archive");
  return opened;
}

int run_import(const ImageArguments& arguments) {
  const Instant start = now();
  const auto options = import_options(arguments);
  if (!options) return report(options.error());
  const auto archive = open_archive(arguments.file);
  if (!archive) return report(archive.error());
  const auto store = image::Store::open(stores_to_search(arguments).front(), image::StoreMode::kWrite);
  if (!store) return report(store.error());
  auto imported = [&] {
    TerminalProgress progress;
    return image::import_image(*store, *archive, *options, progress);
  }();
  if (!imported) return report(fail_with_context(imported.error(), arguments.file).value());
  const double seconds = std::chrono::duration<double>(now() - start).count();
  std::printf("%s %s\n%s, %llu files, %u %s, imported in %.1f s\n", imported->about.name.c_str(),
              imported->image.digest.c_str(), format_bytes(Bytes{imported->about.size_bytes}).c_str(),
              static_cast<unsigned long long>(imported->about.files), imported->layers,
              imported->layers == 1 ? "layer" : "layers", seconds);
  return kExitOk;
}

int run_list(const ImageArguments& arguments) {
  bool opened = false;
  Error last;
  std::vector<image::ListedImage> images;
  for (const std::string& path : stores_to_search(arguments)) {
    const auto store = image::Store::open(path, image::StoreMode::kRead);
    if (!store) {
      last = store.error();
      continue;
    }
    auto found = store->list();
    if (!found) return report(found.error());
    opened = true;
    for (auto& item : *found) images.push_back(std::move(item));
  }
  if (!opened) return report(last);
  if (images.empty()) std::fprintf(stderr, "no images; make one with: casemate image build\n");
  for (const image::ListedImage& item : images) {
    if (!item.about) {
      std::printf("%-12s damaged: %s\n", item.info.name.c_str(), item.fault.c_str());
      continue;
    }
    std::printf("%-12s %s  %8s  %s\n", item.info.name.c_str(), item.info.digest.c_str(),
                format_bytes(Bytes{item.about->size_bytes}).c_str(), utc(item.about->created_s).c_str());
  }
  return kExitOk;
}

void print_json(const image::ImageInfo& info, const image::About& about) {
  json::Writer writer;
  writer.begin_object()
      .field("name", about.name)
      .field("digest", info.digest)
      .field("rootfs", info.rootfs())
      .field("recipe", about.recipe)
      .field("created", utc(about.created_s))
      .field("files", about.files)
      .field("directories", about.directories)
      .field("links", about.links)
      .field("size_bytes", about.size_bytes)
      .field("python", about.python);
  writer.key("packages").begin_array();
  for (const auto& package : about.packages) {
    writer.begin_object()
        .field("name", package.name)
        .field("version", package.version)
        .field("architecture", package.architecture)
        .end_object();
  }
  writer.end_array().key("modules").begin_array();
  for (const auto& module : about.modules) writer.value(module);
  writer.end_array().key("omitted").begin_array();
  for (const auto& omitted : about.omitted) {
    writer.begin_object().field("path", omitted.path).field("package", omitted.package).end_object();
  }
  writer.end_array().end_object();
  std::printf("%s\n", std::move(writer).take().c_str());
}

int run_inspect(const ImageArguments& arguments) {
  const auto found = find(arguments);
  if (!found) return report(found.error());
  const auto about = found->store.about(found->info);
  if (!about) return report(about.error());
  if (arguments.json) {
    print_json(found->info, *about);
    return kExitOk;
  }
  std::printf("name     %s\ndigest   %s\nrootfs   %s\nmade     %s\nsize     %s in %llu files\n",
              about->name.c_str(), found->info.digest.c_str(), found->info.rootfs().c_str(),
              utc(about->created_s).c_str(), format_bytes(Bytes{about->size_bytes}).c_str(),
              static_cast<unsigned long long>(about->files));
  if (!about->python.empty()) std::printf("python   %s\n", about->python.c_str());
  for (const auto& omitted : about->omitted) {
    std::printf("omitted  %s of %s: edited or removed where the image was built\n", omitted.path.c_str(),
                omitted.package.c_str());
  }
  if (about->packages.empty()) {
    std::printf("\nof an OCI archive, manifest %s\n", about->recipe.c_str());
    return kExitOk;
  }
  std::printf("\npackages\n");
  for (const auto& package : about->packages)
    std::printf("  %-28s %s\n", package.name.c_str(), package.version.c_str());
  if (about->modules.empty()) return kExitOk;
  std::printf("\nPython modules that can be imported (any other is absent)\n ");
  std::size_t column = 1;
  for (const std::string& module : about->modules) {
    if (column + module.size() + 1 > 100) {
      std::printf("\n ");
      column = 1;
    }
    std::printf(" %s", module.c_str());
    column += module.size() + 1;
  }
  std::printf("\n");
  return kExitOk;
}

int run_verify(const ImageArguments& arguments) {
  const auto found = find(arguments);
  if (!found) return report(found.error());
  const auto checked = [&] {
    TerminalProgress progress;
    return found->store.verify(found->info, arguments.quick ? image::Depth::kQuick : image::Depth::kFull,
                               threads(), progress);
  }();
  if (!checked) return report(checked.error());
  const auto& faults = checked->faults;
  for (std::size_t i = 0; i < faults.size() && i < kFaultsShownMax; ++i) {
    std::printf("%-8s %s%s%s\n", image::fault_kind_name(faults[i].kind),
                image::escape(faults[i].path).c_str(), faults[i].detail.empty() ? "" : ": ",
                faults[i].detail.c_str());
  }
  if (faults.size() > kFaultsShownMax) std::printf("… and %zu more\n", faults.size() - kFaultsShownMax);
  if (!checked->ok()) {
    std::fprintf(
        stderr,
        "casemate image: %s: %zu %s; build it again with: casemate image build --force, or import it "
        "again\n",
        found->info.digest.c_str(), faults.size(), faults.size() == 1 ? "fault" : "faults");
    return kExitFault;
  }
  std::printf("%s: %llu files, %s: no fault%s\n", found->info.digest.c_str(),
              static_cast<unsigned long long>(checked->files), format_bytes(Bytes{checked->bytes}).c_str(),
              arguments.quick ? " (content not read)" : "");
  return kExitOk;
}

int run_squashfs(const ImageArguments& arguments) {
  const auto found = find(arguments);
  if (!found) return report(found.error());
  image::SquashfsOptions options;
  options.threads = threads();
  const auto path = [&] {
    TerminalProgress progress;
    return image::ensure_squashfs(found->info, options, progress);
  }();
  if (!path) return report(path.error());
  std::printf("%s\n", path->c_str());
  return kExitOk;
}

struct Subcommand {
  const char* name;
  Command (*table)(ImageArguments&);
  int (*run)(const ImageArguments&);
};
constexpr Subcommand kCommands[] = {
    {"build", image_build_table, run_build},    {"import", image_import_table, run_import},
    {"list", image_list_table, run_list},       {"inspect", image_inspect_table, run_inspect},
    {"verify", image_verify_table, run_verify}, {"squashfs", image_squashfs_table, run_squashfs}};

}  // namespace

int image_command(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  if (asked == "--help" || asked == "-h") {
    std::fputs(kImageUsage, stdout);
    return kExitOk;
  }
  for (const Subcommand& command : kCommands) {
    if (asked != command.name) continue;
    ImageArguments arguments;
    if (const auto done = read_command(command.table(arguments), argc - 1, argv + 1)) return *done;
    return command.run(arguments);
  }
  if (asked.empty())
    return usage("a command is missing; there are build, import, list, inspect, verify and squashfs");
  return usage("there is no command '" + image::escape(std::string(asked)) +
               "'; there are build, import, list, inspect, verify and squashfs");
}

}  // namespace casemate
