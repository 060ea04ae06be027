// The two text files of an image: what their parsers accept is exactly what the printers write.
#include <string>
#include <string_view>

#include "fuzz.h"
#include "image/manifest.h"

namespace casemate::image {
namespace {

void check_manifest(std::string_view text) {
  const Result<Manifest> manifest = parse_manifest(text);
  if (!manifest) {
    FUZZ_CHECK(manifest.error().code == ErrorCode::kInvalid);
    return;
  }
  FUZZ_CHECK(print_manifest(*manifest) == text);
  FUZZ_CHECK(is_image_digest(image_digest(text)));
  FUZZ_CHECK(!manifest->entries.empty() && manifest->entries.front().path == "/");
  for (const Entry& entry : manifest->entries) {
    FUZZ_CHECK(is_image_path(entry.path));
    FUZZ_CHECK(entry.mode <= 0777);
  }
  FUZZ_CHECK(compare(*manifest, *manifest, Depth::kFull).empty());
}

void check_about(std::string_view text) {
  if (const Result<About> about = parse_about(text)) FUZZ_CHECK(print_about(*about) == text);
}

void check_escapes(std::string_view text) {
  FUZZ_CHECK(unescape(escape(text)).value() == text);
  if (const Result<std::string> bytes = unescape(text)) FUZZ_CHECK(escape(*bytes) == text);
}

}  // namespace
}  // namespace casemate::image

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = casemate::fuzz::view(data, size);
  casemate::image::check_manifest(text);
  casemate::image::check_about(text);
  casemate::image::check_escapes(text);
  return 0;
}
