#include "image/layer_tree.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "json/utf8.h"

namespace casemate::image {
namespace {

constexpr std::size_t kShownMax = 200;
constexpr std::size_t kNameMax = 255;
constexpr int kLinksFollowedMax = 40;  // as the kernel: path_resolution(7)
// Names that mean something in a layer: OCI image specification 1.1, layer.md, "Whiteouts".
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kAufsOwn = ".wh..wh.";

// What a box mounts over or layers over: these must be directories. See the nest's making of its tree.
constexpr std::array<std::string_view, 6> kDirectoriesNeeded = {"/dev", "/proc",    "/tmp",
                                                                "/usr", "/usr/lib", "/vol"};

constexpr std::string_view kWork = "/work";
constexpr std::string_view kWorkTarget = "/vol/work";
constexpr std::string_view kRunner = "/usr/lib/casemate";
constexpr std::string_view kPython = "/usr/bin/python3";
constexpr std::string_view kLocalPython = "/usr/local/bin/python3";

std::string shown(std::string_view path) { return json::one_line(path, kShownMax); }

tl::unexpected<Error> refuse(std::string_view path, const std::string& why) {
  return fail(ErrorCode::kInvalid, shown(path) + " " + why);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string join(std::string_view directory, std::string_view name) {
  return (directory == "/" ? "/" : std::string(directory) + "/") + std::string(name);
}

// The names of a path, without empty ones and ".".
std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") names.push_back(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

// The names of a path that an archive may have, "./a//b/" too.
Result<std::vector<std::string_view>> checked_names(std::string_view path) {
  if (path.starts_with('/')) return refuse(path, "is an absolute path");
  if (path.size() > kImagePathMax) return refuse(path, "is too long a path");
  std::vector<std::string_view> names = names_of(path);
  for (const std::string_view name : names) {
    if (name == "..") return refuse(path, "has '..' in it");
    if (name.size() > kNameMax) return refuse(path, "has too long a name in it");
  }
  return names;
}

bool is_directory(EntryType type) { return type == EntryType::kDirectory; }

}  // namespace

LayerTree::LayerTree(const ImportLimits& limits) : left_(limits), nodes_max_(limits.entries) {
  nodes_.emplace("/", Node{});
}

void LayerTree::begin_layer() {
  ++layer_;
  whiteouts_.clear();
}

LayerTree::Node LayerTree::make_node(EntryType type) const {
  Node node;
  node.type = type;
  node.layer = layer_;
  return node;
}

// Every look at the tree is counted. Past the limit nothing is found, and the next spend() says so.
LayerTree::Node* LayerTree::find(std::string_view path) {
  if (left_.tree_steps == 0) return nullptr;
  --left_.tree_steps;
  const auto at = nodes_.find(path);
  return at == nodes_.end() ? nullptr : &at->second;
}

Result<void> LayerTree::spend(std::uint64_t bytes) {
  if (left_.tree_steps == 0) return fail(ErrorCode::kExhausted, "its links and directories are too tangled");
  if (bytes > left_.bytes)
    return fail(ErrorCode::kExhausted, "its files hold more bytes than an import may have");
  left_.bytes -= bytes;
  return {};
}

// The directory to which the names lead from the root. Those that an archive names are made where they are
// missing; those that a link names are not.
Result<std::string> LayerTree::resolve(const std::vector<std::string_view>& names, Missing missing,
                                       Changes& changes) {
  struct Pending {
    std::string name;
    bool of_link = false;
  };
  std::deque<Pending> pending;
  for (const std::string_view name : names) pending.push_back({std::string(name), false});
  std::string at = "/";
  int followed = 0;
  while (!pending.empty()) {
    const Pending next = std::move(pending.front());
    pending.pop_front();
    if (next.name == "..") {
      at = parent_of(at);
      continue;
    }
    std::string path = join(at, next.name);
    const Node* node = find(path);
    if (node == nullptr) {
      TRY(spend(0));
      if (missing == Missing::kRefuse) return fail(ErrorCode::kNotFound, shown(path) + " is not there");
      if (next.of_link) return refuse(path, "is not there, but a link leads to it");
      TRY(make_directory(path, changes));
    } else if (node->type == EntryType::kFile) {
      return refuse(path, "is a file, but something is said to be below it");
    } else if (node->type == EntryType::kLink) {
      if (++followed > kLinksFollowedMax) return refuse(path, "leads through too many links");
      const std::string_view target = node->target;
      if (target.starts_with('/')) at = "/";
      const std::vector<std::string_view> more = names_of(target);
      std::deque<Pending> ahead;
      for (const std::string_view name : more) ahead.push_back({std::string(name), true});
      pending.insert(pending.begin(), ahead.begin(), ahead.end());
      left_.tree_steps -= std::min<std::uint64_t>(left_.tree_steps, more.size());
      continue;
    }
    at = std::move(path);
  }
  return at;
}

Result<void> LayerTree::insert(const std::string& path, Node node) {
  if (!is_image_path(path)) return refuse(path, "is too long or too deep");
  const std::size_t bytes = path.size() + node.target.size();
  if (nodes_.size() >= nodes_max_ || bytes > left_.path_bytes) {
    return fail(ErrorCode::kExhausted, "it has more files and directories than an import may have");
  }
  left_.path_bytes -= bytes;
  claim_parents(path);
  nodes_.emplace(path, std::move(node));
  return {};
}

Result<void> LayerTree::make_directory(const std::string& path, Changes& changes) {
  TRY(insert(path, make_node(EntryType::kDirectory)));
  changes.push_back({TreeChange::Kind::kDirectory, path, "", false});
  return {};
}

// What is of this layer has parents of this layer: a whiteout further on leaves them.
void LayerTree::claim_parents(std::string_view path) {
  while (path != "/") {
    path = parent_of(path);
    Node* parent = find(path);
    if (parent == nullptr || parent->layer == layer_) return;
    parent->layer = layer_;
  }
}

void LayerTree::remove(Nodes::iterator at, Changes& changes) {
  const auto kind =
      is_directory(at->second.type) ? TreeChange::Kind::kRemoveDirectory : TreeChange::Kind::kRemove;
  changes.push_back({kind, at->first, "", false});
  nodes_.erase(at);
}

// Removes what lower layers put below a directory. What this layer put there stays, with its parents.
void LayerTree::remove_below(const std::string& path, Changes& changes) {
  const std::string prefix = path == "/" ? path : path + "/";
  std::vector<Nodes::iterator> below;
  for (auto at = nodes_.upper_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix); ++at) {
    below.push_back(at);
  }
  left_.tree_steps -= std::min<std::uint64_t>(left_.tree_steps, below.size());
  // Backwards, children come before their parents.
  for (auto at = below.rbegin(); at != below.rend(); ++at) {
    if ((*at)->second.layer < layer_) remove(*at, changes);
  }
}

Result<void> LayerTree::whiteout(const std::string& parent, std::string_view hidden, Changes& changes) {
  const bool opaque = hidden.empty();
  const std::string path = opaque ? parent : join(parent, hidden);
  if (!whiteouts_.insert(opaque ? path + "/" : path).second)
    return refuse(path, "is hidden twice in one layer");
  const Node* node = find(path);
  TRY(spend(0));
  if (node == nullptr) return {};
  remove_below(path, changes);
  if (!opaque && node->layer < layer_) remove(nodes_.find(path), changes);
  return {};
}

// Makes `node` what stands at this path, in place of what a lower layer has there.
Result<void> LayerTree::put(const std::string& path, Node node, TreeChange change, Changes& changes) {
  Node* there = find(path);
  TRY(spend(0));
  if (there != nullptr) {
    if (is_directory(there->type) && is_directory(node.type)) {
      there->layer = layer_;
      claim_parents(path);
      return {};
    }
    if (there->layer == layer_) return refuse(path, "comes twice in one layer");
    remove_below(path, changes);
    remove(nodes_.find(path), changes);
  }
  TRY(insert(path, std::move(node)));
  changes.push_back(std::move(change));
  return {};
}

Result<void> LayerTree::copy(const std::string& path, const std::string& target, Changes& changes) {
  std::vector<std::string_view> names = TRY(checked_names(target));
  if (names.empty()) return refuse(path, "is a hard link to the root");
  const std::string_view last = names.back();
  names.pop_back();
  Changes none;
  const auto parent = resolve(names, Missing::kRefuse, none);
  if (!parent) return refuse(path, "is a hard link to nothing: " + parent.error().message);
  const std::string from = join(*parent, last);
  const Node* source = find(from);
  TRY(spend(0));
  if (source == nullptr || source->type != EntryType::kFile) {
    return refuse(path, "is a hard link to " + shown(from) + ", which is no file of the image");
  }
  // What is about to be replaced cannot be copied any more.
  if (from == path || from.starts_with(path + "/")) return refuse(path, "is a hard link to itself");
  TRY(spend(source->size));
  const bool executable = source->executable;
  Node node = make_node(EntryType::kFile);
  node.executable = executable;
  node.size = source->size;
  return put(path, std::move(node), {TreeChange::Kind::kCopy, path, from, executable}, changes);
}

Result<std::vector<TreeChange>> LayerTree::add(const TarEntry& entry) {
  if (left_.entries == 0)
    return fail(ErrorCode::kExhausted, "its layers have more entries than an import may have");
  --left_.entries;
  std::vector<std::string_view> names = TRY(checked_names(entry.path));
  Changes changes;
  if (names.empty()) {
    if (entry.type != TarEntry::Type::kDirectory) return refuse(entry.path, "is the root, but no directory");
    return changes;
  }
  const std::string_view last = names.back();
  names.pop_back();
  if (last.starts_with(kWhiteout)) {
    const std::string_view hidden = last == kOpaque ? "" : last.substr(kWhiteout.size());
    if (last != kOpaque && last.starts_with(kAufsOwn)) {
      ++dropped_;
      return changes;
    }
    if (last == kWhiteout || hidden == "." || hidden == "..")
      return refuse(entry.path, "hides nothing that has a name");
    const auto parent = resolve(names, Missing::kRefuse, changes);
    if (!parent && parent.error().code == ErrorCode::kNotFound) return changes;  // nothing there to hide
    if (!parent) return tl::unexpected<Error>(parent.error());
    TRY(whiteout(*parent, hidden, changes));
    return changes;
  }
  if (entry.type == TarEntry::Type::kDevice || entry.type == TarEntry::Type::kPipe) {
    ++dropped_;
    return changes;
  }
  const std::string path = join(TRY(resolve(names, Missing::kMake, changes)), last);
  TRY(place(path, entry, changes));
  return changes;
}

Result<void> LayerTree::place(const std::string& path, const TarEntry& entry, Changes& changes) {
  switch (entry.type) {
    case TarEntry::Type::kDirectory:
      return put(path, make_node(EntryType::kDirectory), {TreeChange::Kind::kDirectory, path, "", false},
                 changes);
    case TarEntry::Type::kLink: {
      if (entry.target.size() > kImagePathMax) return refuse(path, "is a link with too long a target");
      Node node = make_node(EntryType::kLink);
      node.target = entry.target;
      return put(path, std::move(node), {TreeChange::Kind::kLink, path, entry.target, false}, changes);
    }
    case TarEntry::Type::kHardLink: return copy(path, entry.target, changes);
    default: break;
  }
  TRY(spend(entry.size));
  Node node = make_node(EntryType::kFile);
  node.executable = entry.executable;
  node.size = entry.size;
  return put(path, std::move(node), {TreeChange::Kind::kFile, path, "", entry.executable}, changes);
}

bool LayerTree::has_file(std::string_view path) {
  std::string at(path);
  for (int followed = 0; followed <= kLinksFollowedMax; ++followed) {
    std::vector<std::string_view> names = names_of(at);
    if (names.empty()) return false;
    const std::string_view last = names.back();
    names.pop_back();
    Changes none;
    const auto parent = resolve(names, Missing::kRefuse, none);
    if (!parent || last == "..") return false;
    const Node* node = find(join(*parent, last));
    if (node == nullptr || is_directory(node->type)) return false;
    if (node->type == EntryType::kFile) return true;
    at = node->target.starts_with('/') ? node->target : join(*parent, node->target);
  }
  return false;
}

Result<std::vector<TreeChange>> LayerTree::complete() {
  begin_layer();
  Changes changes;
  for (const std::string_view path : kDirectoriesNeeded) {
    const Node* node = find(path);
    TRY(spend(0));
    if (node == nullptr) TRY(make_directory(std::string(path), changes));
    // stops: a link there would be followed on the host, when the box's mounts are made
    if (node != nullptr && !is_directory(node->type))
      return refuse(path, "must be a directory: a box mounts over it");
  }
  if (nodes_.contains(kRunner))
    return refuse(kRunner, "must be absent: casemate's own runner is layered there");
  TRY(complete_work(changes));
  if (!has_file(kPython) && has_file(kLocalPython)) {
    const std::string path = join(TRY(resolve({"usr", "bin"}, Missing::kMake, changes)), "python3");
    TarEntry link{.type = TarEntry::Type::kLink, .path = path, .target = std::string(kLocalPython)};
    TRY(place(path, link, changes));
  }
  TRY(spend(0));
  return changes;
}

// /work is a link to the box's layer. An empty directory, which images have for mounts, gives way to it.
Result<void> LayerTree::complete_work(Changes& changes) {
  const auto at = nodes_.find(kWork);
  if (at != nodes_.end()) {
    const Node& node = at->second;
    if (node.type == EntryType::kLink && node.target == kWorkTarget) return {};
    const std::string below = std::string(kWork) + "/";
    const auto first = nodes_.lower_bound(below);
    const bool empty = first == nodes_.end() || !first->first.starts_with(below);
    if (!is_directory(node.type) || !empty) {
      return refuse(kWork, "must be absent, empty, or a link to " + std::string(kWorkTarget));
    }
  }
  TarEntry link{
      .type = TarEntry::Type::kLink, .path = std::string(kWork), .target = std::string(kWorkTarget)};
  return place(std::string(kWork), link, changes);
}

}  // namespace casemate::image
