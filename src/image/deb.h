// What apt and dpkg-deb say of a package that is only unpacked, and which of its files an image takes. Pure
// functions over text and values. Private to the image library.
//
// The text is apt's or that of a package file, which nobody vouches for: nothing of it becomes a word of a
// command before it was held against what such a word may be.
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
#include "image/recipe.h"

namespace casemate::image {

inline constexpr std::size_t kControlBytesMax = std::size_t{1} << 20;
inline constexpr std::uint64_t kTakenFileMax = std::uint64_t{256} << 20;

// A package as `about` lists it, and how its file is known again.
struct PackageFile {
  PackageVersion package;
  std::string sha256;  // in hex; empty: nobody says
  std::uint64_t size_bytes = 0;
};

// The fields of the first paragraph of deb-control(5) text; continuation lines are left out. Each field once.
// Errors: invalid.
Result<std::map<std::string, std::string>> parse_paragraph(std::string_view text);

// A package by name and, where one is asked for, version; as apt-get takes it: "NAME=VERSION".
struct NamedPackage {
  std::string name;
  std::string version;
  std::string argument() const { return version.empty() ? name : name + "=" + version; }
};

// The one package that a meta package depends on and that is called as `pattern` says. `text` is what
// `apt-cache show` says of the meta package.
// Errors: invalid (no such package, several, a name or version that no package has).
Result<NamedPackage> parse_meta(std::string_view text, const std::string& pattern);

// What `apt-cache show` says of the package. Errors: invalid (of another package or version; no SHA-256).
Result<PackageFile> parse_package_file(std::string_view text, const NamedPackage& asked);

// What `dpkg-deb --field` says of a package file: that it is called as `pattern` says and made for this
// architecture. Errors: invalid.
Result<PackageVersion> parse_control(std::string_view text, const std::string& pattern,
                                     std::string_view architecture);

// Goes over a package's entries and says which are taken. One thread.
class TakePlan {
 public:
  explicit TakePlan(const std::vector<TakenFile>& files) : files_(&files) {}  // which outlive it

  // What of the recipe the entry is; nullptr: nothing.
  // Errors: invalid (a path that no package has; a second file or no file where one is to be taken),
  // exhausted (larger than kTakenFileMax).
  Result<const TakenFile*> add(const TarEntry& entry);

  // Whether the entry is the list of modules that the kernel has in itself.
  static bool is_builtin_list(const TarEntry& entry);

  // That everything was there, or is a module of that list. Errors: invalid.
  Result<void> finish(std::string_view builtin_list) const;

 private:
  const std::vector<TakenFile>* files_;
  std::map<const TakenFile*, std::string> found_;   // and where
  std::map<const TakenFile*, std::string> packed_;  // modules that are there, but compressed
};

}  // namespace casemate::image
