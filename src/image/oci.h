// The JSON documents of an OCI image layout: which image, and of what it is made. Pure functions over bytes
// that nobody vouches for. OCI image specification 1.1: image-layout.md, image-index.md, manifest.md,
// config.md, descriptor.md. Docker's media types of the same things are taken too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/archive.h"

namespace casemate::image {

inline constexpr std::size_t kOciDocumentMax = std::size_t{4} << 20;  // as the distribution specification
inline constexpr std::size_t kOciManifestsMax = 256;                  // in one index
inline constexpr std::size_t kOciLayersMax = 128;  // as the kernel's overlays that such images are made for

// What another document says of a blob.
struct OciDescriptor {
  std::string media_type;
  std::string digest;  // "sha256:HEX", lower case: no other algorithm is taken
  std::uint64_t size = 0;
  std::string os;            // of a manifest in an index; empty when not said
  std::string architecture;  // "amd64", "arm64": as Go names them, and Debian
};

enum class OciKind { kIndex, kManifest, kConfig, kLayer, kOther };
// What a media type stands for.
OciKind oci_kind(std::string_view media_type);

// Errors of all these: invalid (not such a document; the message names the field), exhausted (a bound).

// The file oci-layout: its version must be 1.0.x.
Result<void> check_oci_layout(std::string_view text);

// index.json, or an index that is a blob: manifests and further indexes, others left out.
Result<std::vector<OciDescriptor>> parse_oci_index(std::string_view text);

struct OciManifest {
  OciDescriptor config;
  std::vector<OciDescriptor> layers;  // the lowest first; at least one
};
Result<OciManifest> parse_oci_manifest(std::string_view text);

struct OciConfig {
  std::string os;
  std::string architecture;
  std::vector<std::string> diff_ids;  // "sha256:HEX" of each layer, unpacked
};
Result<OciConfig> parse_oci_config(std::string_view text);

// How a layer is packed. Errors: invalid (a type of layer that is not taken).
Result<Packing> oci_packing(std::string_view media_type);

// Those of an index that are for Linux on this architecture, each digest once. What does not say for which it
// is counts only where nothing says so.
std::vector<OciDescriptor> oci_choices(const std::vector<OciDescriptor>& index,
                                       std::string_view architecture);

}  // namespace casemate::image
