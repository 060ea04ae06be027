#include "image_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "image/build.h"
#include "image/recipe.h"
#include "image/store.h"
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

struct Arguments {
  std::optional<std::string> store;
  std::string name = "python";
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
  options.now_s =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
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
    std::fprintf(stderr, "casemate image: %s: %zu %s; rebuild it with: casemate image build --force\n",
                 found->info.digest.c_str(), faults.size(), faults.size() == 1 ? "fault" : "faults");
    return kExitFault;
  }
  std::printf("%s: %llu files, %s: no fault%s\n", found->info.digest.c_str(),
              static_cast<unsigned long long>(checked->files), format_bytes(Bytes{checked->bytes}).c_str(),
              arguments.quick ? " (content not read)" : "");
  return kExitOk;
}

CLI::App* add_command(CLI::App& app, const char* name, const char* what, const char* examples,
                      Arguments& arguments) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("--store", arguments.store,
                      "directory of images (default: /var/lib/casemate/images for root, else "
                      "$XDG_DATA_HOME/casemate/images)");
  command->footer(std::string("Examples:\n") + examples);
  return command;
}

bool has_command(const CLI::App& app, const std::string& name) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_name() == name; });
}

}  // namespace

int image_command(int argc, char** argv) {
  CLI::App app("Build, list, inspect and verify the images that boxes run in.", "casemate image");
  app.require_subcommand(1);
  Arguments arguments;
  CLI::App* build =
      add_command(app, "build", "Build an image from the Debian packages installed here",
                  "  casemate image build\n  casemate image build --store /srv/images python", arguments);
  build->add_option("name", arguments.name, "recipe (default: python)");
  build->add_flag("--force", arguments.force,
                  "build even if the image is up to date; replaces a damaged one");
  CLI::App* list = add_command(app, "list", "List the images", "  casemate image list", arguments);
  CLI::App* inspect =
      add_command(app, "inspect", "Show an image's packages and Python modules",
                  "  casemate image inspect python\n  casemate image inspect python --json", arguments);
  inspect->add_option("name", arguments.name, "name or digest")->required();
  inspect->add_flag("--json", arguments.json, "print one JSON object");
  CLI::App* verify =
      add_command(app, "verify", "Compare every file with the image's digest; exit 1 on a fault",
                  "  casemate image verify python\n  casemate image verify python --quick", arguments);
  verify->add_option("name", arguments.name, "name or digest")->required();
  verify->add_flag("--quick", arguments.quick,
                   "compare names, types, modes and sizes; do not read the files");
  if (argc > 1 && argv[1][0] != '-' && !has_command(app, argv[1])) {
    return usage("there is no command '" + image::escape(argv[1]) +
                 "'; there are build, list, inspect and verify");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return usage(error.what());
  }
  if (build->parsed()) return run_build(arguments);
  if (list->parsed()) return run_list(arguments);
  if (inspect->parsed()) return run_inspect(arguments);
  return run_verify(arguments);
}

}  // namespace casemate
