// What the layers of a foreign image come to, entry by entry. Pure: it says what to change, and touches
// nothing itself, so hostile archives meet it under a fuzzer before they meet a disk.
//
// Refused, for the whole image: absolute paths, "..", paths that are too long or too deep, a path that comes
// twice in one layer (directories may), an entry below a file or below a link that leads nowhere, a hard link
// to what is no file of the image, a sparse file. Dropped and counted: devices, pipes, and aufs' own files.
// A parent that is a link is followed inside the tree, as a kernel would with the image as its root
// ("/" and ".." lead no higher); the changes name only paths whose parents are directories.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/archive.h"
#include "image/manifest.h"

namespace casemate::image {

// Of one import: all layers together, with what later layers hide.
struct ImportLimits {
  std::uint64_t archive_bytes = std::uint64_t{8} << 30;
  std::uint64_t bytes = std::uint64_t{8} << 30;  // of the unpacked layers; and as much again of files
  std::uint64_t entries = kManifestEntriesMax;   // of the layers; and as many of the tree
  std::uint64_t path_bytes = kManifestBytesMax;  // of paths and links' targets
  std::uint64_t tree_steps = 20'000'000;         // names looked up: links can multiply those
};

// One thing to do to the tree on disk, in order. Every parent is a directory by then, and `path` is free
// where something is made.
struct TreeChange {
  enum class Kind {
    kRemove,           // a file or link
    kRemoveDirectory,  // an empty one
    kDirectory,
    kFile,  // its content is that of the entry at hand
    kLink,  // to `target`, verbatim
    kCopy,  // of the file at `target`: a box's files have one name each
  };
  Kind kind = Kind::kDirectory;
  std::string path;  // as in a manifest
  std::string target;
  bool executable = false;  // of a file or copy
};

class LayerTree {
 public:
  explicit LayerTree(const ImportLimits& limits);

  // The entries that follow are of the next layer, which lies over those before it.
  void begin_layer();
  // What one entry changes. Errors: invalid (refused, see above), exhausted (a limit). After one, the tree
  // is of no use any more.
  Result<std::vector<TreeChange>> add(const TarEntry& entry);
  // After the last layer: what a box needs and the image lacks. A box mounts over /dev, /proc, /tmp and
  // /vol and layers its runner over /usr/lib, as /usr/lib/casemate, which must be free; /work is a link to
  // /vol/work; and python3 is /usr/bin/python3, here a link where an image has it in /usr/local/bin alone.
  // Errors: invalid, when the image has something else in one of these places.
  Result<std::vector<TreeChange>> complete();

  // Whether the path leads to a file, through links inside the tree.
  bool has_file(std::string_view path);

  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Node {
    EntryType type = EntryType::kDirectory;
    bool executable = false;
    unsigned layer = 0;  // the last that named it, or something below it
    std::uint64_t size = 0;
    std::string target;
  };
  using Nodes = std::map<std::string, Node, std::less<>>;
  using Changes = std::vector<TreeChange>;
  enum class Missing { kRefuse, kMake };

  Node make_node(EntryType type) const;
  Node* find(std::string_view path);
  Result<std::string> resolve(const std::vector<std::string_view>& names, Missing missing, Changes& changes);
  Result<void> whiteout(const std::string& parent, std::string_view hidden, Changes& changes);
  void claim_parents(std::string_view path);
  void remove_below(const std::string& path, Changes& changes);
  void remove(Nodes::iterator at, Changes& changes);
  Result<void> put(const std::string& path, Node node, TreeChange change, Changes& changes);
  Result<void> copy(const std::string& path, const std::string& target, Changes& changes);
  Result<void> place(const std::string& path, const TarEntry& entry, Changes& changes);
  Result<void> complete_work(Changes& changes);
  Result<void> make_directory(const std::string& path, Changes& changes);
  Result<void> spend(std::uint64_t bytes);
  Result<void> insert(const std::string& path, Node node);

  Nodes nodes_;
  ImportLimits left_;
  std::uint64_t nodes_max_;
  unsigned layer_ = 0;
  std::uint64_t dropped_ = 0;
  std::set<std::string, std::less<>> whiteouts_;  // of this layer
};

}  // namespace casemate::image
