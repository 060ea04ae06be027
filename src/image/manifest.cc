#include "image/manifest.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "crypto/sha256.h"
#include "image/text_lines.h"

namespace casemate::image {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kDigestPrefix = "sha256:";

bool plain(char c) { return c > 0x20 && c < 0x7f && c != '\\'; }

std::string octal(unsigned mode) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04o", mode);
  return buffer.data();
}

std::optional<unsigned> parse_mode(std::string_view text) {
  if (text.size() != 4 || text[0] != '0') return std::nullopt;
  unsigned mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    mode = mode * 8 + static_cast<unsigned>(c - '0');
  }
  return mode;
}

// What is wrong with the third and fourth fields for an entry of this type, or nullptr.
const char* content_fault(const Entry& entry) {
  switch (entry.type) {
    case EntryType::kDirectory:
      return entry.size == 0 && entry.content.empty() ? nullptr : "a directory has size 0 and content '-'";
    case EntryType::kFile:
      return crypto::is_lower_hex(entry.content, 64) ? nullptr : "a file's content must be a SHA-256";
    case EntryType::kLink:
      if (entry.size != 0 || entry.mode != 0777) return "a link has size 0 and mode 0777";
      if (entry.content.empty() || entry.content.size() > kImagePathMax ||
          entry.content.find('\0') != std::string::npos) {
        return "a link's target must have 1 to 1024 bytes and no NUL";
      }
      return nullptr;
  }
  return "unknown type";
}

Result<Entry> parse_entry(std::string_view line) {
  const auto bad = [](const char* what) { return fail(ErrorCode::kInvalid, what); };
  const auto fields = split_fields<5>(line);
  if (!fields) return bad("it must have five fields");
  const auto& [type, mode_text, size_text, content, path] = *fields;
  Entry entry;
  if (type != "d" && type != "f" && type != "l") return bad("the type must be d, f or l");
  entry.type = static_cast<EntryType>(type[0]);
  const auto mode = parse_mode(mode_text);
  if (!mode) return bad("the mode must be four octal digits, at most 0777");
  entry.mode = *mode;
  const auto size = parse_whole(size_text, kImageFileMax);
  if (!size) return bad("the size must be a whole number of bytes");
  entry.size = *size;
  if (entry.type != EntryType::kDirectory) {
    entry.content = TRY(unescape(content));
  } else if (content != "-") {
    return bad("a directory's content must be '-'");
  }
  if (const char* fault = content_fault(entry)) return bad(fault);
  entry.path = TRY(unescape(path));
  if (!is_image_path(entry.path)) return bad("the path must be absolute, without empty, '.' or '..' names");
  return entry;
}

// Whether the directory that holds `path` stands in `sorted`, which every parent must do before its
// children: "/a" sorts before "/a/b".
bool has_parent(const std::vector<Entry>& sorted, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view parent = slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), parent,
                                   [](const Entry& entry, std::string_view key) { return entry.path < key; });
  return at != sorted.end() && at->path == parent && at->type == EntryType::kDirectory;
}

}  // namespace

std::string escape(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    if (plain(c)) {
      text.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text.append("\\x");
    text.push_back(kHex[byte >> 4U]);
    text.push_back(kHex[byte & 15U]);
  }
  return text;
}

Result<std::string> unescape(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (plain(text[i])) {
      bytes.push_back(text[i]);
      continue;
    }
    const std::string_view escaped = text.substr(i, 4);
    const std::size_t high = escaped.size() == 4 ? kHex.find(escaped[2]) : std::string_view::npos;
    const std::size_t low = escaped.size() == 4 ? kHex.find(escaped[3]) : std::string_view::npos;
    if (!escaped.starts_with("\\x") || high == std::string_view::npos || low == std::string_view::npos) {
      return fail(ErrorCode::kInvalid, "a byte is neither plain nor escaped as \\xhh");
    }
    const char byte = static_cast<char>(high * 16 + low);
    if (plain(byte)) return fail(ErrorCode::kInvalid, "a byte is escaped without need");
    bytes.push_back(byte);
    i += 3;
  }
  return bytes;
}

bool is_image_path(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.size() > kImagePathMax || path.front() != '/') return false;
  if (path.find('\0') != std::string_view::npos) return false;
  std::size_t depth = 0;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == ".." || name.size() > 255) return false;
    if (++depth > kImageDepthMax) return false;
    path.remove_prefix(name.size());
  }
  return true;
}

std::string print_manifest(const Manifest& manifest) {
  std::string text;
  text.reserve(manifest.entries.size() * 140);
  for (const Entry& entry : manifest.entries) {
    text.push_back(static_cast<char>(entry.type));
    text.append(" ").append(octal(entry.mode));
    text.append(" ").append(std::to_string(entry.size));
    text.append(" ").append(entry.type == EntryType::kDirectory ? "-" : escape(entry.content));
    text.append(" ").append(escape(entry.path)).append("\n");
  }
  return text;
}

Result<Manifest> parse_manifest(std::string_view text) {
  if (text.size() > kManifestBytesMax) return fail(ErrorCode::kInvalid, "the manifest is too large");
  Manifest manifest;
  Lines lines(text);
  const auto bad = [&](const std::string& what) {
    return fail(ErrorCode::kInvalid, "manifest line " + std::to_string(lines.number()) + ": " + what);
  };
  while (const auto line = lines.next()) {
    if (manifest.entries.size() == kManifestEntriesMax) return bad("too many entries");
    auto entry = parse_entry(*line);
    if (!entry) return bad(entry.error().message);
    if (manifest.entries.empty()) {
      if (entry->path != "/" || entry->type != EntryType::kDirectory) return bad("the first must be '/'");
    } else {
      if (entry->path <= manifest.entries.back().path) return bad("the paths are not in order");
      if (!has_parent(manifest.entries, entry->path)) return bad("no directory holds this path");
    }
    manifest.entries.push_back(std::move(*entry));
  }
  if (lines.unfinished()) return fail(ErrorCode::kInvalid, "the manifest is cut short");
  if (manifest.entries.empty()) return fail(ErrorCode::kInvalid, "the manifest is empty");
  return manifest;
}

std::string image_digest(std::string_view manifest_text) {
  return std::string(kDigestPrefix) + crypto::sha256_hex(manifest_text);
}

bool is_image_digest(std::string_view text) {
  return text.starts_with(kDigestPrefix) && crypto::is_lower_hex(text.substr(kDigestPrefix.size()), 64);
}

const char* fault_kind_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kMissing: return "missing";
    case FaultKind::kExtra: return "extra";
    case FaultKind::kType: return "type";
    case FaultKind::kMode: return "mode";
    case FaultKind::kSize: return "size";
    case FaultKind::kContent: return "content";
    case FaultKind::kTarget: return "target";
    case FaultKind::kOwner: return "owner";
    case FaultKind::kShared: return "shared";
    case FaultKind::kManifest: return "manifest";
  }
  return "unknown";
}

namespace {

const char* type_name(EntryType type) {
  switch (type) {
    case EntryType::kDirectory: return "a directory";
    case EntryType::kFile: return "a file";
    case EntryType::kLink: return "a link";
  }
  return "unknown";
}

void compare_entry(const Entry& expected, const Entry& found, Depth depth, std::vector<Fault>& faults) {
  const std::string& path = expected.path;
  if (expected.type != found.type) {
    faults.push_back(
        {FaultKind::kType, path,
         std::string("is ") + type_name(found.type) + ", should be " + type_name(expected.type)});
    return;
  }
  if (expected.mode != found.mode) {
    faults.push_back(
        {FaultKind::kMode, path, "is " + octal(found.mode) + ", should be " + octal(expected.mode)});
  }
  if (expected.type == EntryType::kLink && expected.content != found.content) {
    faults.push_back({FaultKind::kTarget, path,
                      "is " + escape(found.content) + ", should be " + escape(expected.content)});
  }
  if (expected.type != EntryType::kFile) return;
  if (expected.size != found.size) {
    faults.push_back({FaultKind::kSize, path,
                      "is " + std::to_string(found.size) + ", should be " + std::to_string(expected.size)});
  } else if (depth == Depth::kFull && expected.content != found.content) {
    faults.push_back({FaultKind::kContent, path, "the bytes differ"});
  }
}

}  // namespace

std::vector<Fault> compare(const Manifest& expected, const Manifest& found, Depth depth) {
  std::vector<Fault> faults;
  auto left = expected.entries.begin();
  auto right = found.entries.begin();
  while (left != expected.entries.end() || right != found.entries.end()) {
    if (right == found.entries.end() || (left != expected.entries.end() && left->path < right->path)) {
      faults.push_back({FaultKind::kMissing, left->path, ""});
      ++left;
    } else if (left == expected.entries.end() || right->path < left->path) {
      faults.push_back({FaultKind::kExtra, right->path, ""});
      ++right;
    } else {
      compare_entry(*left, *right, depth, faults);
      ++left;
      ++right;
    }
  }
  return faults;
}

}  // namespace casemate::image
