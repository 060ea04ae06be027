#include "image/oci.h"

#include <algorithm>

#include "image/manifest.h"
#include "json/reader.h"
#include "json/utf8.h"

namespace casemate::image {
namespace {

constexpr std::size_t kShownMax = 100;
constexpr std::string_view kOs = "linux";
constexpr std::string_view kOciLayer = "application/vnd.oci.image.layer.v1.tar";
constexpr std::string_view kDockerLayer = "application/vnd.docker.image.rootfs.diff.tar";

tl::unexpected<Error> invalid(const std::string& what) { return fail(ErrorCode::kInvalid, what); }

Result<json::Value> read_document(std::string_view text) {
  json::Value document = TRY(json::read(text, {.bytes_max = kOciDocumentMax, .depth_max = 32}));
  if (document.kind() != json::Value::Kind::kObject) return invalid("it should be an object");
  return document;
}

// A member that must be there, of this kind.
Result<const json::Value*> member(const json::Value& object, const char* key, json::Value::Kind kind) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return invalid(std::string("'") + key + "' is missing");
  if (value->kind() != kind) {
    return invalid(std::string("'") + key + "' should be " + json::kind_name(kind) + ", is " +
                   json::kind_name(value->kind()));
  }
  return value;
}

Result<std::string> text_of(const json::Value& object, const char* key) {
  const json::Value* value = TRY(member(object, key, json::Value::Kind::kString));
  return std::string(TRY(value->as_string()));
}

// Empty when it is not there.
Result<std::string> optional_text(const json::Value& object, const char* key) {
  if (object.find(key) == nullptr) return std::string();
  return text_of(object, key);
}

Result<std::string> digest_in(const std::string& text) {
  if (is_image_digest(text)) return text;
  return invalid("a digest must be sha256 and 64 hex digits, not '" + json::one_line(text, kShownMax) + "'");
}

Result<OciDescriptor> parse_descriptor(const json::Value& value) {
  OciDescriptor descriptor;
  if (value.kind() != json::Value::Kind::kObject) return invalid("a descriptor should be an object");
  descriptor.media_type = TRY(text_of(value, "mediaType"));
  const std::string digest = TRY(text_of(value, "digest"));
  descriptor.digest = TRY(digest_in(digest));
  const json::Value* size = TRY(member(value, "size", json::Value::Kind::kNumber));
  auto bytes = size->as_uint64();
  if (!bytes) return fail_with_context(bytes.error(), "'size'");
  descriptor.size = *bytes;
  if (value.find("platform") != nullptr) {
    const json::Value* platform = TRY(member(value, "platform", json::Value::Kind::kObject));
    descriptor.os = TRY(text_of(*platform, "os"));
    descriptor.architecture = TRY(text_of(*platform, "architecture"));
  }
  return descriptor;
}

// The number 2, where it is said: an index or manifest of Docker's first kind is another document.
Result<void> check_schema(const json::Value& document) {
  const json::Value* version = TRY(member(document, "schemaVersion", json::Value::Kind::kNumber));
  const auto number = version->as_int64();
  if (!number || *number != 2) return invalid("'schemaVersion' should be 2");
  return {};
}

Result<std::vector<OciDescriptor>> parse_descriptors(const json::Value& document, const char* key,
                                                     std::size_t most) {
  const json::Value* list = TRY(member(document, key, json::Value::Kind::kArray));
  if (list->items().size() > most) {
    return fail(ErrorCode::kExhausted,
                std::string("'") + key + "' has more than " + std::to_string(most) + " items");
  }
  std::vector<OciDescriptor> descriptors;
  for (const json::Value& item : list->items()) {
    auto descriptor = parse_descriptor(item);
    if (!descriptor) {
      return fail_with_context(descriptor.error(),
                               std::string(key) + "[" + std::to_string(descriptors.size()) + "]");
    }
    descriptors.push_back(std::move(*descriptor));
  }
  return descriptors;
}

}  // namespace

OciKind oci_kind(std::string_view media_type) {
  if (media_type == "application/vnd.oci.image.index.v1+json" ||
      media_type == "application/vnd.docker.distribution.manifest.list.v2+json") {
    return OciKind::kIndex;
  }
  if (media_type == "application/vnd.oci.image.manifest.v1+json" ||
      media_type == "application/vnd.docker.distribution.manifest.v2+json") {
    return OciKind::kManifest;
  }
  if (media_type == "application/vnd.oci.image.config.v1+json" ||
      media_type == "application/vnd.docker.container.image.v1+json") {
    return OciKind::kConfig;
  }
  return media_type.starts_with(kOciLayer) || media_type.starts_with(kDockerLayer) ? OciKind::kLayer
                                                                                   : OciKind::kOther;
}

Result<Packing> oci_packing(std::string_view media_type) {
  if (media_type == kOciLayer || media_type == kDockerLayer) return Packing::kNone;
  if (media_type == std::string(kOciLayer) + "+gzip" || media_type == std::string(kDockerLayer) + ".gzip") {
    return Packing::kGzip;
  }
  if (media_type == std::string(kOciLayer) + "+zstd" || media_type == std::string(kDockerLayer) + ".zstd") {
    return Packing::kZstd;
  }
  return invalid("a layer of the type '" + json::one_line(media_type, kShownMax) + "' is not taken");
}

Result<void> check_oci_layout(std::string_view text) {
  const json::Value document = TRY(read_document(text));
  const std::string version = TRY(text_of(document, "imageLayoutVersion"));
  if (version.starts_with("1.0.")) return {};
  return invalid("'imageLayoutVersion' should be 1.0.0, is '" + json::one_line(version, kShownMax) + "'");
}

Result<std::vector<OciDescriptor>> parse_oci_index(std::string_view text) {
  const json::Value document = TRY(read_document(text));
  TRY(check_schema(document));
  std::vector<OciDescriptor> all = TRY(parse_descriptors(document, "manifests", kOciManifestsMax));
  std::erase_if(all, [](const OciDescriptor& item) {
    const OciKind kind = oci_kind(item.media_type);
    return kind != OciKind::kIndex && kind != OciKind::kManifest;
  });
  return all;
}

Result<OciManifest> parse_oci_manifest(std::string_view text) {
  const json::Value document = TRY(read_document(text));
  TRY(check_schema(document));
  const std::string type = TRY(optional_text(document, "mediaType"));
  if (!type.empty() && oci_kind(type) != OciKind::kManifest)
    return invalid("'mediaType' is not a manifest's");
  OciManifest manifest;
  const json::Value* config = TRY(member(document, "config", json::Value::Kind::kObject));
  auto descriptor = parse_descriptor(*config);
  if (!descriptor) return fail_with_context(descriptor.error(), "config");
  manifest.config = std::move(*descriptor);
  if (oci_kind(manifest.config.media_type) != OciKind::kConfig) {
    return invalid("it is no container image: its config is '" +
                   json::one_line(manifest.config.media_type, kShownMax) + "'");
  }
  manifest.layers = TRY(parse_descriptors(document, "layers", kOciLayersMax));
  if (manifest.layers.empty()) return invalid("'layers' is empty");
  for (const OciDescriptor& layer : manifest.layers) TRY(oci_packing(layer.media_type));
  return manifest;
}

Result<OciConfig> parse_oci_config(std::string_view text) {
  const json::Value document = TRY(read_document(text));
  OciConfig config;
  config.os = TRY(text_of(document, "os"));
  config.architecture = TRY(text_of(document, "architecture"));
  const json::Value* rootfs = TRY(member(document, "rootfs", json::Value::Kind::kObject));
  if (TRY(text_of(*rootfs, "type")) != "layers") return invalid("'rootfs.type' should be layers");
  const json::Value* diff_ids = TRY(member(*rootfs, "diff_ids", json::Value::Kind::kArray));
  if (diff_ids->items().size() > kOciLayersMax) return fail(ErrorCode::kExhausted, "too many 'diff_ids'");
  for (const json::Value& item : diff_ids->items()) {
    const std::string_view text_of_item = TRY(item.as_string());
    config.diff_ids.push_back(TRY(digest_in(std::string(text_of_item))));
  }
  return config;
}

std::vector<OciDescriptor> oci_choices(const std::vector<OciDescriptor>& index,
                                       std::string_view architecture) {
  std::vector<OciDescriptor> choices;
  for (const bool named : {true, false}) {
    for (const OciDescriptor& item : index) {
      const bool fits = named ? item.os == kOs && item.architecture == architecture : item.os.empty();
      const bool known = std::any_of(choices.begin(), choices.end(),
                                     [&](const OciDescriptor& other) { return other.digest == item.digest; });
      if (fits && !known) choices.push_back(item);
    }
    if (!choices.empty()) break;
  }
  return choices;
}

}  // namespace casemate::image
