// The JSON documents of an OCI archive: what is taken keeps to its bounds, and what is not is one line.
#include <string>
#include <string_view>

#include "fuzz.h"
#include "image/manifest.h"
#include "image/oci.h"

namespace casemate::image {
namespace {

void check_error(const Error& error) {
  FUZZ_CHECK(error.code == ErrorCode::kInvalid || error.code == ErrorCode::kExhausted);
  FUZZ_CHECK(error.message.find('\n') == std::string::npos && error.message.size() < 2000);
}

void check(const OciDescriptor& descriptor) { FUZZ_CHECK(is_image_digest(descriptor.digest)); }

void run(std::string_view text) {
  if (const auto index = parse_oci_index(text)) {
    FUZZ_CHECK(index->size() <= kOciManifestsMax);
    for (const OciDescriptor& item : *index) check(item);
    FUZZ_CHECK(oci_choices(*index, "amd64").size() <= index->size());
  } else {
    check_error(index.error());
  }
  if (const auto manifest = parse_oci_manifest(text)) {
    FUZZ_CHECK(!manifest->layers.empty() && manifest->layers.size() <= kOciLayersMax);
    check(manifest->config);
    for (const OciDescriptor& layer : manifest->layers) {
      check(layer);
      FUZZ_CHECK(oci_packing(layer.media_type).has_value());
    }
  } else {
    check_error(manifest.error());
  }
  if (const auto config = parse_oci_config(text)) {
    for (const std::string& id : config->diff_ids) FUZZ_CHECK(is_image_digest(id));
  } else {
    check_error(config.error());
  }
  if (const auto layout = check_oci_layout(text); !layout) check_error(layout.error());
}

}  // namespace
}  // namespace casemate::image

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::image::run(casemate::fuzz::view(data, size));
  return 0;
}
