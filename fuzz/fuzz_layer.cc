// The way of an image's layers from bytes to changes of a tree: packing, tar, the rules of layers. Whatever
// the bytes are, each change is one that a disk can make, below the root and without a link on the way.
//
// Input: layers, one after another, with a line "LAYER" between them; each packed or not.
#include <string>
#include <string_view>

#include "fuzz.h"
#include "image/archive.h"
#include "image/layer_tree.h"
#include "image/manifest.h"
#include "image/tree_in_memory.h"

namespace casemate::image {
namespace {

constexpr std::string_view kBetween = "\nLAYER\n";
constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
constexpr ImportLimits kLimits{.archive_bytes = kBytes,
                               .bytes = kBytes,
                               .entries = 1000,
                               .path_bytes = std::uint64_t{1} << 18,
                               .tree_steps = 100'000};

// What a refusal must be: one of the two kinds, in one bounded line.
void check_error(const Error& error) {
  FUZZ_CHECK(error.code == ErrorCode::kInvalid || error.code == ErrorCode::kExhausted);
  FUZZ_CHECK(error.message.find('\n') == std::string::npos && error.message.size() < 2000);
}

Result<void> take(Result<std::vector<TreeChange>> changes, TreeInMemory& disk) {
  if (!changes) return tl::unexpected<Error>(changes.error());
  for (const TreeChange& change : *changes) {
    const std::string impossible = disk.apply(change);
    if (!impossible.empty()) std::fprintf(stderr, "%s\n", impossible.c_str());
    FUZZ_CHECK(impossible.empty());
    FUZZ_CHECK(change.target.size() <= kImagePathMax);
  }
  return {};
}

Result<void> read_layer(std::string_view layer, std::uint64_t& bytes_left, LayerTree& tree,
                        TreeInMemory& disk) {
  TextSource source(layer);
  Unpacked unpacked(source, Packing::kAny, bytes_left);
  TarReader tar(unpacked);
  tree.begin_layer();
  while (const auto entry = TRY(tar.next())) {
    TRY(take(tree.add(*entry), disk));
    std::uint64_t size = 0;
    while (entry->size % 2 == 0) {  // content is read or passed over
      const std::string_view piece = TRY(tar.data());
      size += piece.size();
      if (!piece.empty()) continue;
      FUZZ_CHECK(size == entry->size);
      break;
    }
  }
  FUZZ_CHECK(TRY(unpacked.finish_sha256()).size() == 64);
  return {};
}

void run(std::string_view input) {
  LayerTree tree(kLimits);
  TreeInMemory disk;
  std::uint64_t bytes_left = kLimits.bytes;
  for (bool last = false; !last;) {
    const std::size_t end = input.find(kBetween);
    last = end == std::string_view::npos;
    const Result<void> read = read_layer(input.substr(0, end), bytes_left, tree, disk);
    if (!read) return check_error(read.error());
    if (!last) input.remove_prefix(end + kBetween.size());
  }
  const Result<void> completed = take(tree.complete(), disk);
  if (!completed) return check_error(completed.error());
  for (const char* path : {"/dev", "/proc", "/tmp", "/usr", "/usr/lib", "/vol"}) {
    FUZZ_CHECK(disk.entries().at(path) == "d");
  }
  FUZZ_CHECK(disk.entries().at("/work") == "l /vol/work");
  FUZZ_CHECK(disk.entries().size() <= kLimits.entries);
}

}  // namespace
}  // namespace casemate::image

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::image::run(casemate::fuzz::view(data, size));
  return 0;
}
