#include "image/import.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "image/blobs.h"
#include "image/disk_tree.h"
#include "image/oci.h"
#include "image/recipe.h"
#include "image/seal.h"
#include "image/tree.h"

namespace casemate::image {
namespace {

constexpr int kIndexDepthMax = 3;  // an index that lists indexes of images

struct Chosen {
  std::string digest;  // of the manifest
  OciManifest manifest;
  OciConfig config;
};

// Follows the index to the one image that is for this machine.
Result<OciDescriptor> choose_manifest(const Blobs& blobs, std::string_view architecture) {
  std::string index = blobs.index();
  for (int depth = 0; depth < kIndexDepthMax; ++depth) {
    const auto all = parse_oci_index(index);
    if (!all) return fail_with_context(all.error(), depth == 0 ? "index.json" : "the index");
    const std::vector<OciDescriptor> choices = oci_choices(*all, architecture);
    if (choices.empty()) {
      return fail(ErrorCode::kInvalid, "it holds no image for linux/" + std::string(architecture));
    }
    if (choices.size() > 1) {
      return fail(ErrorCode::kInvalid, "it holds " + std::to_string(choices.size()) + " images for linux/" +
                                           std::string(architecture) +
                                           "; export the one that is wanted alone");
    }
    if (oci_kind(choices.front().media_type) == OciKind::kManifest) return choices.front();
    index = TRY(blobs.document(choices.front()));
  }
  return fail(ErrorCode::kInvalid, "its indexes are nested too deep");
}

Result<Chosen> choose(const Blobs& blobs, const std::string& architecture) {
  if (const auto layout = check_oci_layout(blobs.layout()); !layout) {
    return fail_with_context(layout.error(), "oci-layout");
  }
  const OciDescriptor descriptor = TRY(choose_manifest(blobs, architecture));
  Chosen chosen;
  chosen.digest = descriptor.digest;
  auto manifest = parse_oci_manifest(TRY(blobs.document(descriptor)));
  if (!manifest) return fail_with_context(manifest.error(), "the manifest");
  chosen.manifest = std::move(*manifest);
  auto config = parse_oci_config(TRY(blobs.document(chosen.manifest.config)));
  if (!config) return fail_with_context(config.error(), "the config");
  chosen.config = std::move(*config);
  if (chosen.config.os != "linux" || chosen.config.architecture != architecture) {
    return fail(ErrorCode::kInvalid, "it is not an image for linux/" + architecture);
  }
  if (chosen.config.diff_ids.size() != chosen.manifest.layers.size()) {
    return fail(ErrorCode::kInvalid, "its config and its manifest differ in the number of layers");
  }
  return chosen;
}

// One layer over those before it.
Result<void> unpack_layer(const Blobs& blobs, const OciDescriptor& layer, const std::string& diff_id,
                          std::uint64_t& bytes_left, LayerTree& tree, DiskTree& disk) {
  const sys::Fd file = TRY(blobs.open(layer));
  FdSource packed(file);
  const Packing packing = TRY(oci_packing(layer.media_type));
  Unpacked unpacked(packed, packing, bytes_left);
  TarReader tar(unpacked);
  tree.begin_layer();
  while (const auto entry = TRY(tar.next())) {
    for (const TreeChange& change : TRY(tree.add(*entry))) TRY(disk.apply(change, tar));
  }
  if ("sha256:" + TRY(unpacked.finish_sha256()) == diff_id) return {};
  return fail(ErrorCode::kInvalid, "unpacked, it does not have the digest that the config says");
}

Result<void> unpack(const Blobs& blobs, const Chosen& chosen, const ImportLimits& limits, const sys::Fd& root,
                    Progress& progress) {
  LayerTree tree(limits);
  DiskTree disk(root);
  std::uint64_t bytes_left = limits.bytes;
  const auto& layers = chosen.manifest.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string which = "layer " + std::to_string(i + 1) + " of " + std::to_string(layers.size());
    progress.stage("unpack " + which);
    const auto done = unpack_layer(blobs, layers[i], chosen.config.diff_ids[i], bytes_left, tree, disk);
    if (!done) return fail_with_context(done.error(), which);
  }
  TextSource nothing("");
  TarReader no_content(nothing);  // what completes an image are directories and links
  for (const TreeChange& change : TRY(tree.complete())) TRY(disk.apply(change, no_content));
  if (tree.dropped() > 0) {
    progress.note("left out " + std::to_string(tree.dropped()) + " devices, pipes and the like");
  }
  if (!tree.has_file("/usr/bin/python3")) {
    progress.note("it has no /usr/bin/python3: no program can run in it");
  }
  return {};
}

Result<Imported> import_locked(const Store& store, StoreWriter& writer, const sys::Fd& archive,
                               const ImportOptions& options, Progress& progress) {
  const auto there = store.find(options.name);
  if (!options.replace && (there || there.error().code != ErrorCode::kNotFound)) {
    return fail(ErrorCode::kInvalid, "there is an image '" + options.name + "' already");
  }
  const sys::Fd draft = TRY(writer.make_draft());
  for (const char* name : {"blobs", "rootfs"}) {
    if (::mkdirat(draft.get(), name, 0755) < 0) return fail_errno(std::string("mkdir ") + name);
  }
  const sys::Fd below = TRY(sys::open_at(draft.get(), "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const sys::Fd root = TRY(sys::open_at(draft.get(), "rootfs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  progress.stage("read the archive");
  FdSource source(archive);
  const Blobs blobs = TRY(Blobs::collect(source, below, options.limits, progress));
  const Chosen chosen = TRY(choose(blobs, python_recipe().architecture));
  TRY(unpack(blobs, chosen, options.limits, root, progress));
  TRY(remove_tree(draft, "blobs"));

  Imported imported;
  imported.layers = static_cast<unsigned>(chosen.manifest.layers.size());
  imported.about.name = options.name;
  imported.about.recipe = chosen.digest;
  imported.about.created_s = options.now_s;
  imported.image = TRY(seal_image(writer, root, imported.about, options.threads, progress));
  if (there && there->digest != imported.image.digest) progress.note("the name stood for " + there->digest);
  return imported;
}

}  // namespace

std::string image_name_of(std::string_view file) {
  std::string name(file.substr(file.rfind('/') + 1));  // npos + 1 is 0
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view ending : {".gz", ".zst", ".tar", ".tgz", ".oci"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return is_image_name(name) ? name : std::string();
}

Result<Imported> import_image(const Store& store, const sys::Fd& archive, const ImportOptions& options,
                              Progress& progress) {
  if (!is_image_name(options.name)) {
    return fail(ErrorCode::kInvalid, "'" + escape(options.name.substr(0, kImageNameMax)) +
                                         "' cannot be an image's name: a-z, 0-9, '.', '_' and '-'");
  }
  StoreWriter writer = TRY(StoreWriter::lock(store, Deadline::in(options.lock_wait), progress));
  auto imported = import_locked(store, writer, archive, options, progress);
  if (!imported && (imported.error().errno_value == ENOSPC || imported.error().errno_value == EDQUOT)) {
    return fail(ErrorCode::kUnavailable, "no space is left for the image store " + store.path());
  }
  return imported;
}

}  // namespace casemate::image
