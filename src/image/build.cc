#include "image/build.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "image/inside.h"
#include "image/parallel.h"
#include "image/seal.h"
#include "image/sources.h"
#include "image/store_files.h"
#include "image/text_lines.h"
#include "image/tree.h"
#include "image/unpacked.h"

namespace casemate::image {
namespace {

constexpr milliseconds kMadeFileSpan{60'000};
constexpr std::size_t kScratchEntriesMax = 100'000;

// What an image is made of: packages that are installed, and perhaps the file of one that is not.
struct Ingredients {
  std::vector<Package> packages;
  std::optional<PackageFile> unpacked;
};

Result<Ingredients> read_ingredients(const Recipe& recipe, const BuildOptions& options) {
  if (!recipe.only_on.empty() && recipe.only_on != recipe.architecture) {
    return fail(ErrorCode::kUnavailable, "the image '" + recipe.name + "' is for " + recipe.only_on +
                                             " alone, and this machine is " + recipe.architecture);
  }
  Ingredients ingredients;
  ingredients.packages = TRY(read_packages(recipe));
  if (recipe.unpacked) {
    ingredients.unpacked = TRY(resolve_unpacked(recipe, Deadline::in(options.step_wait)));
  }
  return ingredients;
}

std::vector<PackageVersion> versions_of(const Ingredients& ingredients) {
  std::vector<PackageVersion> versions;
  for (const Package& package : ingredients.packages)
    versions.push_back({package.name, package.version, package.architecture});
  if (ingredients.unpacked) versions.push_back(ingredients.unpacked->package);
  std::stable_sort(versions.begin(), versions.end(),
                   [](const PackageVersion& a, const PackageVersion& b) { return a.name < b.name; });
  return versions;
}

// The image of this name, if it is what would be built now and looks whole.
std::optional<Built> find_current(const Store& store, const Recipe& recipe,
                                  const std::vector<PackageVersion>& versions, Progress& progress) {
  // Nobody says whether a given file is the one that the image was made of.
  if (recipe.unpacked && !recipe.unpacked->given.empty()) return std::nullopt;
  const auto info = store.find(recipe.name);
  if (!info) return std::nullopt;
  auto about = store.about(*info);
  if (!about || about->recipe != recipe_digest(recipe) || about->packages != versions) {
    return std::nullopt;
  }
  const auto report = store.verify(*info, Depth::kQuick, /*threads=*/1, progress);
  if (!report || !report->ok()) return std::nullopt;
  return Built{*info, std::move(*about), /*reused=*/true};
}

// Directories, links and made files; what is copied is left to copy_all().
Result<void> make_items(const Layout& layout, const sys::Fd& root) {
  for (const auto& [path, item] : layout) {
    if (path == "/") continue;
    const std::string at = path.substr(1);
    switch (item.type) {
      case EntryType::kDirectory:
        if (::mkdirat(root.get(), at.c_str(), 0755) < 0) return fail_errno("mkdir " + path);
        break;
      case EntryType::kLink:
        if (::symlinkat(item.content.c_str(), root.get(), at.c_str()) < 0)
          return fail_errno("symlink " + path);
        break;
      case EntryType::kFile: {
        if (!item.source.empty()) break;
        const sys::Fd fd = TRY(sys::open_at(root.get(), at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
        TRY(sys::write_all(fd, item.content, Deadline::in(kMadeFileSpan)));
        break;
      }
    }
  }
  return {};
}

Result<void> copy_all(const Recipe& recipe, const Layout& layout, const sys::Fd& root, unsigned threads,
                      Progress& progress) {
  std::vector<const Layout::value_type*> files;
  for (const auto& entry : layout) {
    if (!entry.second.source.empty()) files.push_back(&entry);
  }
  progress.stage("copy " + std::to_string(files.size()) + " files");
  // Counted in files and not in bytes: the small ones cost as much as the large.
  return run_parallel({files.size(), threads, files.size()}, progress,
                      [&](std::size_t i) -> Result<std::uint64_t> {
                        TRY(copy_file(recipe, files[i]->first, files[i]->second, root.get()));
                        return 1;
                      });
}

// "python 3.11.2" once, "module NAME" in order.
Result<void> take_facts(std::string_view output, About& about) {
  Lines lines(output);
  while (const auto line = lines.next()) {
    const auto fields = split_fields<2>(*line);
    if (!fields) return fail(ErrorCode::kInternal, "a step reports '" + std::string(*line) + "'");
    if ((*fields)[0] == "python") about.python = (*fields)[1];
    if ((*fields)[0] == "module") about.modules.emplace_back((*fields)[1]);
  }
  std::sort(about.modules.begin(), about.modules.end());
  return {};
}

Result<void> run_steps(const Recipe& recipe, const sys::Fd& root, const BuildOptions& options, About& about,
                       Progress& progress) {
  for (const Step& step : recipe.steps) {
    progress.stage(step.what);
    const auto outputs =
        run_inside(root, {step.commands, recipe.step_environment}, Deadline::in(options.step_wait));
    if (!outputs) return fail_with_context(outputs.error(), "step '" + step.what + "'");
    if (step.output != StepOutput::kFacts) continue;
    for (const std::string& output : *outputs) TRY(take_facts(output, about));
  }
  for (const std::string& scratch : recipe.scratch) {
    const std::string directory = scratch.substr(1);
    if (::faccessat(root.get(), directory.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) < 0) continue;
    std::vector<std::string> names;
    TRY(names_below(root, directory, kScratchEntriesMax, names));
    for (const std::string& name : names) TRY(remove_tree(root, directory + "/" + name));
  }
  return {};
}

}  // namespace

Result<Built> build(const Store& store, const Recipe& recipe, const BuildOptions& options,
                    Progress& progress) {
  progress.stage("resolve packages");
  const Ingredients ingredients = TRY(read_ingredients(recipe, options));
  About about;
  about.packages = versions_of(ingredients);
  StoreWriter writer = TRY(StoreWriter::lock(store, Deadline::in(options.lock_wait), progress));
  // Only now: the build that we may have waited for was perhaps of the same image.
  if (!options.force) {
    if (auto current = find_current(store, recipe, about.packages, progress)) return std::move(*current);
  }
  Sources sources = TRY(read_sources(recipe, ingredients.packages));
  for (const Omitted& omitted : sources.omitted) {
    progress.note("left out " + omitted.path + " of " + omitted.package + ": it was edited or removed here");
  }

  const sys::Fd draft = TRY(writer.make_draft());
  if (::mkdirat(draft.get(), "rootfs", 0755) < 0) return fail_errno("mkdir rootfs");
  const sys::Fd root = TRY(sys::open_at(draft.get(), "rootfs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  TRY(make_items(sources.layout, root));
  TRY(copy_all(recipe, sources.layout, root, options.threads, progress));
  if (ingredients.unpacked) {
    TRY(take_unpacked(recipe, *ingredients.unpacked, draft, root, Deadline::in(options.step_wait), progress));
  }

  about.name = recipe.name;
  about.recipe = recipe_digest(recipe);
  about.created_s = options.now_s;
  about.omitted = std::move(sources.omitted);
  TRY(run_steps(recipe, root, options, about, progress));

  const ImageInfo image = TRY(seal_image(writer, root, about, options.threads, progress));
  return Built{image, std::move(about), /*reused=*/false};
}

}  // namespace casemate::image
