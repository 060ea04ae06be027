#include "image/seal.h"

#include "image/tree.h"

namespace casemate::image {
namespace {

// Counts what the manifest holds and names it.
void describe(const Manifest& manifest, const std::string& text, About& about) {
  about.digest = image_digest(text);
  for (const Entry& entry : manifest.entries) {
    about.files += entry.type == EntryType::kFile ? 1 : 0;
    about.directories += entry.type == EntryType::kDirectory ? 1 : 0;
    about.links += entry.type == EntryType::kLink ? 1 : 0;
    about.size_bytes += entry.size;
  }
}

}  // namespace

Result<ImageInfo> seal_image(StoreWriter& writer, const sys::Fd& root, About& about, unsigned threads,
                             Progress& progress) {
  progress.stage("hash");
  TRY(normalise_tree(root));
  const Scan scan = TRY(scan_tree(root, Depth::kFull, threads, progress));
  if (!scan.oddities.empty()) {
    const Fault& odd = scan.oddities.front();
    return fail(ErrorCode::kInternal, "what made the image left " + odd.path + ", which " + odd.detail);
  }
  const std::string manifest = print_manifest(scan.manifest);
  if (manifest.size() > kManifestBytesMax) {
    return fail(ErrorCode::kExhausted, "the image's paths are too much for a manifest");
  }
  describe(scan.manifest, manifest, about);
  progress.stage("publish");
  return writer.publish(about, manifest, threads, progress);
}

}  // namespace casemate::image
