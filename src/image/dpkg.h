// Reading dpkg's database: which packages are installed, which files they own, and what those files
// must contain. Pure functions over the text of its files (dpkg(1), deb-control(5),
// update-alternatives(1); the layout of /var/lib/dpkg is that of dpkg 1.21).
//
// The text comes from the machine that the image is built on. It is trusted to name files, and not
// to be well-formed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace casemate::image {

inline constexpr std::size_t kDpkgStatusBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kDpkgFileBytesMax = std::size_t{32} << 20;  // one package's list or sums
inline constexpr std::size_t kPackagesMax = 100'000;

struct Conffile {
  std::string path;
  std::string md5;
  bool obsolete = false;  // no longer part of the package
};

struct Package {
  std::string name;
  std::string version;
  std::string architecture;      // "amd64", "all"
  bool multi_arch_same = false;  // its files in info/ are called NAME:ARCHITECTURE.*
  // Pre-Depends and Depends. Each item is one need; its names are the ways to meet it, best first.
  // Versions and architecture qualifiers are dropped: dpkg has held them when it installed.
  std::vector<std::vector<std::string>> depends;
  std::vector<std::string> provides;
  std::vector<Conffile> conffiles;
};

// The installed packages of `architecture` and of "all", by name. Others, and packages that are
// half installed or removed, are left out. `text` is /var/lib/dpkg/status.
// Errors: invalid.
Result<std::vector<Package>> parse_status(std::string_view text, std::string_view architecture);

// "a (>= 1) | b:any, c" → {{a, b}, {c}}
std::vector<std::vector<std::string>> parse_dependencies(std::string_view field);

// A need of a recipe or package that is met on purpose by nothing.
struct Cut {
  std::string package;
  std::string why;
};

// The named packages and everything that they depend on, by name. A need with several ways is met
// by the first of them that is installed, then by the first (by name) that provides one; a need of
// which any way is cut is left unmet. Cycles are fine.
// Errors: unavailable, with every package that is missing and the command that installs them.
Result<std::vector<Package>> resolve_closure(const std::vector<Package>& installed,
                                             const std::vector<std::string>& roots,
                                             const std::vector<Cut>& cuts);

// info/NAME.md5sums: absolute path → MD5 in hex. Errors: invalid.
Result<std::map<std::string, std::string>> parse_md5sums(std::string_view text);

// info/NAME.list: absolute paths in the file's order; the root itself ("/.") is left out.
// Errors: invalid.
Result<std::vector<std::string>> parse_list(std::string_view text);

// `package` has its own file at `from`; everybody else's is at `to` instead. A local diversion has
// the package ":".
struct Diversion {
  std::string from;
  std::string to;
  std::string package;
};

// /var/lib/dpkg/diversions. Errors: invalid.
Result<std::vector<Diversion>> parse_diversions(std::string_view text);

struct AlternativeLink {
  std::string name;  // of the link in /etc/alternatives
  std::string link;  // "/usr/bin/awk"
};

struct AlternativeChoice {
  std::string path;
  long priority = 0;
  std::vector<std::string> slaves;  // one per slave link; empty where this choice has none
};

struct Alternative {
  AlternativeLink master;
  std::vector<AlternativeLink> slaves;
  std::vector<AlternativeChoice> choices;
};

// /var/lib/dpkg/alternatives/NAME. Errors: invalid.
Result<Alternative> parse_alternative(std::string_view name, std::string_view text);

}  // namespace casemate::image
