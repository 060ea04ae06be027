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
#include "image/store.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "options.h"
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

struct Arguments {
  std::optional<std::string> store;
  std::string name = "python";
  std::string file;
  std::optional<std::string> new_name;
  bool force = false;
  bool json = false;
  bool quick = false;
};

std::vector<std::string> stores_to_search(const Arguments& arguments) {
  if (arguments.store) return {*arguments.store};
  return image::store_paths(::geteuid() == 0, environment("XDG_DATA_HOME"), environment("HOME"));
}

Result<image::StoredImage> find(const Arguments& arguments) {
  return image::find_image(stores_to_search(arguments), arguments.name);
}

std::int64_t seconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

unsigned threads() { return std::clamp(std::thread::hardware_concurrency(), 1U, 4U); }

int run_build(const Arguments& arguments) {
  image::Recipe recipe = image::python_recipe();
  if (arguments.name != recipe.name) {
    return report(fail(ErrorCode::kInvalid,
                       "there is no recipe '" + arguments.name + "'; the one that there is: " + recipe.name)
                      .value());
  }
  const Instant start = now();
  const auto store = image::Store::open(stores_to_search(arguments).front(), image::StoreMode::kWrite);
  if (!store) return report(store.error());
  image::BuildOptions options;
  options.force = arguments.force;
  options.threads = threads();
  options.now_s = seconds_since_1970();
  const auto built = [&] {
    TerminalProgress progress;
    return image::build(*store, recipe, options, progress);
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
// least of all that of the image that boxes run in when none is named.
Result<image::ImportOptions> import_options(const Arguments& arguments) {
  image::ImportOptions options;
  options.threads = threads();
  options.now_s = seconds_since_1970();
  options.replace = arguments.new_name.has_value();
  options.name = arguments.new_name.value_or(image::image_name_of(arguments.file));
  if (!options.replace && (options.name.empty() || options.name == image::python_recipe().name)) {
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

int run_import(const Arguments& arguments) {
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

int run_list(const Arguments& arguments) {
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

int run_inspect(const Arguments& arguments) {
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

int run_verify(const Arguments& arguments) {
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

constexpr const char* kUsage =
    "Builds, imports, lists, inspects and verifies the images that boxes run in.\n"
    "\n"
    "  casemate image build [RECIPE]   build an image from the Debian packages installed here\n"
    "  casemate image import FILE      import an OCI image archive\n"
    "  casemate image list             list the images\n"
    "  casemate image inspect IMAGE    show an image's packages and Python modules\n"
    "  casemate image verify IMAGE     compare every file with the image's digest\n"
    "\n"
    "`casemate image COMMAND --help` says more.\n";

// The table of a command that the options below are common to.
Command command_of(const char* name, const char* summary, const char* examples, Arguments& arguments) {
  return Command{name,
                 summary,
                 {},
                 {{"--store", "DIR",
                   "directory of images (default: /var/lib/casemate/images for root, else "
                   "$XDG_DATA_HOME/casemate/images)",
                   &arguments.store}},
                 examples};
}

Command build_table(Arguments& arguments) {
  Command command = command_of(
      "casemate image build", "Builds an image from the Debian packages installed here.",
      "Examples:\n  casemate image build\n  casemate image build --store /srv/images python", arguments);
  command.arguments.push_back({"RECIPE", "what to build (python)", &arguments.name});
  command.options.push_back({"--force", nullptr,
                             "build even if the image is up to date; replaces a damaged one",
                             &arguments.force});
  return command;
}

Command import_table(Arguments& arguments) {
  Command command =
      command_of("casemate image import", "Imports an OCI image archive, a tar file of an OCI image layout.",
                 "Nothing of the image runs while it is imported. Owners, set-id bits, devices and extended "
                 "attributes are\n"
                 "left behind; paths and links that lead out of the image, and content without its digest, "
                 "refuse it. A\n"
                 "program can run in it if it has python3 in /usr/bin or /usr/local/bin, 3.9 or later.\n"
                 "\n"
                 "Examples:\n"
                 "  skopeo copy docker://registry.example/analysis:1 oci-archive:analysis.tar\n"
                 "  casemate image import analysis.tar --name analysis\n"
                 "  casemate run --trust trusted --image analysis program.py",
                 arguments);
  command.arguments.push_back(
      {"FILE", "the archive; - for standard input", &arguments.file, /*required=*/true});
  command.options.push_back({"--name", "NAME",
                             "what to call the image, in place of another of that name (by default: as FILE, "
                             "if no image has that name)",
                             &arguments.new_name});
  return command;
}

Command list_table(Arguments& arguments) {
  return command_of("casemate image list", "Lists the images.", "Examples:\n  casemate image list",
                    arguments);
}

Command inspect_table(Arguments& arguments) {
  Command command = command_of(
      "casemate image inspect", "Shows an image's packages and Python modules.",
      "Examples:\n  casemate image inspect python\n  casemate image inspect python --json", arguments);
  command.arguments.push_back({"IMAGE", "name or digest", &arguments.name, /*required=*/true});
  command.options.push_back({"--json", nullptr, "one JSON document", &arguments.json});
  return command;
}

Command verify_table(Arguments& arguments) {
  Command command = command_of(
      "casemate image verify", "Compares every file with the image's digest; exit 1 on a fault.",
      "Examples:\n  casemate image verify python\n  casemate image verify python --quick", arguments);
  command.arguments.push_back({"IMAGE", "name or digest", &arguments.name, /*required=*/true});
  command.options.push_back(
      {"--quick", nullptr, "compare names, types, modes and sizes; do not read the files", &arguments.quick});
  return command;
}

struct Subcommand {
  const char* name;
  Command (*table)(Arguments&);
  int (*run)(const Arguments&);
};
constexpr Subcommand kCommands[] = {{"build", build_table, run_build},
                                    {"import", import_table, run_import},
                                    {"list", list_table, run_list},
                                    {"inspect", inspect_table, run_inspect},
                                    {"verify", verify_table, run_verify}};

}  // namespace

int image_command(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  if (asked == "--help" || asked == "-h") {
    std::fputs(kUsage, stdout);
    return kExitOk;
  }
  for (const Subcommand& command : kCommands) {
    if (asked != command.name) continue;
    Arguments arguments;
    if (const auto done = read_command(command.table(arguments), argc - 1, argv + 1)) return *done;
    return command.run(arguments);
  }
  if (asked.empty()) return usage("a command is missing; there are build, import, list, inspect and verify");
  return usage("there is no command '" + image::escape(std::string(asked)) +
               "'; there are build, import, list, inspect and verify");
}

}  // namespace casemate
