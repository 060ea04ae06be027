// The two text files beside an image's root: the manifest, whose SHA-256 is the image's name, and
// `about`, which says where the image came from.
//
// Both are strict: what the parsers accept is exactly what the printers write, byte for byte. The
// parsers are pure and bounded, because a store may hold what somebody copied there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace casemate::image {

inline constexpr std::size_t kManifestBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kManifestEntriesMax = 400'000;
inline constexpr std::size_t kAboutBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kAboutListMax = 20'000;  // packages, modules, omitted files: each
inline constexpr std::size_t kImagePathMax = 1024;    // bytes; also of a link's target
inline constexpr std::size_t kImageDepthMax = 64;     // names in one path
inline constexpr std::uint64_t kImageFileMax = std::uint64_t{1} << 40;

enum class EntryType : char { kDirectory = 'd', kFile = 'f', kLink = 'l' };

// One thing in an image. What a box can see of it and nothing else: no owner, no time.
struct Entry {
  EntryType type = EntryType::kFile;
  unsigned mode = 0;       // permission bits, at most 0777; 0777 for a link
  std::uint64_t size = 0;  // bytes of a file; 0 for the others
  std::string content;     // SHA-256 in hex of a file; a link's target; empty for a directory
  std::string path;        // "/" or "/usr/bin/env": absolute, no empty name, no "." or ".."
  bool operator==(const Entry&) const = default;
};

// Sorted by path, bytewise; each path once; the parent of each is a directory before it; the first
// is "/".
struct Manifest {
  std::vector<Entry> entries;
};

// One line per entry: type, mode (four octal digits), size, SHA-256 or target or "-", path; single
// spaces; a line feed after each. Bytes outside 0x21..0x7e, and the backslash, are written \xhh.
std::string print_manifest(const Manifest& manifest);

// Errors: invalid, naming the line and what is wrong with it.
Result<Manifest> parse_manifest(std::string_view text);

// The image's name: "sha256:" and the SHA-256 of the printed manifest.
std::string image_digest(std::string_view manifest_text);
// Exactly "sha256:" and 64 lower-case hex digits.
bool is_image_digest(std::string_view text);

// Whether `path` may stand in a manifest.
bool is_image_path(std::string_view path);

std::string escape(std::string_view bytes);
// Errors: invalid, for anything that escape() does not write.
Result<std::string> unescape(std::string_view text);

enum class FaultKind { kMissing, kExtra, kType, kMode, kSize, kContent, kTarget, kOwner, kShared, kManifest };

// "missing", "extra", "type", …
const char* fault_kind_name(FaultKind kind);

// One way in which a root differs from its manifest.
struct Fault {
  FaultKind kind = FaultKind::kMissing;
  std::string path;
  std::string detail;  // "mode is 0777, should be 0755"; may be empty
  bool operator==(const Fault&) const = default;
};

// Whether files' content counts. A quick look does not read them, and leaves `content` empty.
enum class Depth { kQuick, kFull };

// In order of paths. Both are sorted.
std::vector<Fault> compare(const Manifest& expected, const Manifest& found, Depth depth);

struct PackageVersion {
  std::string name;
  std::string version;
  std::string architecture;
  bool operator==(const PackageVersion&) const = default;
};

// A file of a package that the image leaves out because the host's copy was edited or removed.
struct Omitted {
  std::string path;
  std::string package;
  bool operator==(const Omitted&) const = default;
};

// Where an image came from. Not part of its digest.
struct About {
  std::string name;
  std::string digest;          // of the manifest beside it
  std::string recipe;          // "sha256:…" of the recipe that made it
  std::int64_t created_s = 0;  // seconds since 1970, UTC
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t links = 0;
  std::uint64_t size_bytes = 0;          // of all files
  std::string python;                    // "3.11.2"; empty for an image without
  std::vector<PackageVersion> packages;  // by name
  std::vector<std::string> modules;      // Python modules that can be imported by name, sorted
  std::vector<Omitted> omitted;
  bool operator==(const About&) const = default;
};

// "key value" lines in a fixed order, ended by line feeds. Lists repeat their key.
std::string print_about(const About& about);
// Errors: invalid, naming the line.
Result<About> parse_about(std::string_view text);

}  // namespace casemate::image
