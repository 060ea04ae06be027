// For tests of imports: tar archives written byte by byte, so that they can be wrong in any way, and OCI
// archives made of them.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/sha256.h"
#include "json/writer.h"

namespace casemate::image {

struct TarHeader {
  // '0' file, '1' hard link, '2' link, '3' and '4' devices, '5' directory, '6' pipe, 'x' pax
  char type = '0';
  std::string target = {};
  unsigned mode = 0644;
  unsigned owner = 1000;
};

class TarText {
 public:
  TarText& add(const std::string& path, const std::string& content, const TarHeader& header = {}) {
    std::string block(512, '\0');
    const auto put = [&](std::size_t at, std::size_t size, const std::string& text) {
      std::memcpy(block.data() + at, text.data(), std::min(size, text.size()));
    };
    const auto octal = [](std::uint64_t value, int digits) {
      std::string text(32, '\0');
      text.resize(static_cast<std::size_t>(
          std::snprintf(text.data(), text.size(), "%0*llo", digits, static_cast<unsigned long long>(value))));
      return text;
    };
    put(0, 100, path);
    put(100, 8, octal(header.mode, 7));
    put(108, 8, octal(header.owner, 7));
    put(116, 8, octal(header.owner, 7));
    put(124, 12, octal(content.size(), 11));
    put(136, 12, octal(1'700'000'000, 11));
    put(148, 8, std::string(8, ' '));
    block[156] = header.type;
    put(157, 100, header.target);
    put(257, 8, std::string("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    put(148, 8, octal(sum, 6) + std::string("\0 ", 2));
    text_ += block + content + std::string((512 - content.size() % 512) % 512, '\0');
    return *this;
  }
  TarText& directory(const std::string& path) { return add(path, "", {.type = '5', .mode = 0755}); }
  TarText& link(const std::string& path, const std::string& target) {
    return add(path, "", {.type = '2', .target = target, .mode = 0777});
  }
  TarText& hard_link(const std::string& path, const std::string& target) {
    return add(path, "", {.type = '1', .target = target});
  }
  // A pax header for the entry that follows.
  TarText& pax(const std::string& key, const std::string& value) {
    std::size_t size = key.size() + value.size() + 3;
    size += std::to_string(size + std::to_string(size).size()).size();
    return add("pax", std::to_string(size) + " " + key + "=" + value + "\n", {.type = 'x'});
  }
  // The end of the archive is two blocks of zeros.
  std::string text() const { return text_ + std::string(1024, '\0'); }

 private:
  std::string text_;
};

inline std::string packed(std::string_view text, bool zstd) {
  std::string out(text.size() + (std::size_t{1} << 16), '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  if (zstd) {
    archive_write_add_filter_zstd(writer);
  } else {
    archive_write_add_filter_gzip(writer);
  }
  archive_write_set_format_raw(writer);
  archive_write_open_memory(writer, out.data(), out.size(), &used);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(writer, entry);
  archive_write_data(writer, text.data(), text.size());
  archive_entry_free(entry);
  archive_write_free(writer);
  out.resize(used);
  return out;
}

// An OCI archive of some layers. What a test wants to be wrong it changes before it asks for the text.
struct OciArchive {
  struct Layer {
    std::string blob;
    std::string unpacked;
    std::string type = "application/vnd.oci.image.layer.v1.tar";
  };
  std::vector<Layer> layers;
  std::string os = "linux";
  std::string architecture;
  std::map<std::string, std::string> files = {};  // in place of, or beside, what is made of the above
  std::uint64_t size_added = 0;                   // to what descriptors say of layers
  bool with_layout = true;

  OciArchive& layer(const TarText& tar) {
    layers.push_back({tar.text(), tar.text()});
    return *this;
  }

  static std::string digest(std::string_view text) { return "sha256:" + crypto::sha256_hex(text); }
  static std::string path_of(std::string_view text) { return "blobs/sha256/" + crypto::sha256_hex(text); }

  std::string config() const {
    json::Writer writer;
    writer.begin_object().field("os", os).field("architecture", architecture);
    writer.key("rootfs").begin_object().field("type", "layers").key("diff_ids").begin_array();
    for (const Layer& layer : layers) writer.value(digest(layer.unpacked));
    writer.end_array().end_object().end_object();
    return std::move(writer).take();
  }
  std::string manifest() const {
    json::Writer writer;
    writer.begin_object().field("schemaVersion", 2).key("config");
    describe(writer, "application/vnd.oci.image.config.v1+json", config(), 0);
    writer.key("layers").begin_array();
    for (const Layer& layer : layers) describe(writer, layer.type, layer.blob, size_added);
    writer.end_array().end_object();
    return std::move(writer).take();
  }
  std::string index() const {
    json::Writer writer;
    writer.begin_object().field("schemaVersion", 2).key("manifests").begin_array();
    describe(writer, "application/vnd.oci.image.manifest.v1+json", manifest(), 0);
    writer.end_array().end_object();
    return std::move(writer).take();
  }
  std::string text() const {
    std::map<std::string, std::string> all = files;
    if (with_layout) all.emplace("oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
    all.emplace("index.json", index());
    all.emplace(path_of(manifest()), manifest());
    all.emplace(path_of(config()), config());
    for (const Layer& layer : layers) all.emplace(path_of(layer.blob), layer.blob);
    TarText tar;
    tar.directory("blobs/").directory("blobs/sha256/");
    for (const auto& [path, content] : all) tar.add(path, content);
    return tar.text();
  }

 private:
  static void describe(json::Writer& writer, const std::string& type, const std::string& blob,
                       std::uint64_t added) {
    writer.begin_object().field("mediaType", type).field("digest", digest(blob));
    writer.field("size", blob.size() + added).end_object();
  }
};

}  // namespace casemate::image
