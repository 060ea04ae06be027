// What an image will hold, worked out before anything is written. Pure functions over values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "image/dpkg.h"
#include "image/manifest.h"

namespace casemate::image {

// Leaves out what matches. The pattern is fnmatch(3)'s without flags, so '*' also matches '/'.
struct Exclusion {
  std::string pattern;
  std::string why;
};

// What dpkg knows about the files of one package. Paths are as dpkg spells them.
struct PackageFiles {
  std::string package;
  std::vector<std::string> paths;
  std::map<std::string, std::string> md5s;       // of regular files
  std::map<std::string, std::string> conffiles;  // of configuration files
};

// A path that a package puts into the image.
struct PackagedPath {
  std::string path;    // in the image
  std::string source;  // on the machine that builds it
  std::string md5;     // what a regular file must hold; empty for a directory or link
  std::string package;
  bool conffile = false;
};

// fnmatch(3) without flags.
bool matches(const std::string& pattern, const std::string& path);

// The path on a system whose /bin, /sbin and /lib* are links into /usr: "/bin/sh" → "/usr/bin/sh".
std::string merge_usr(std::string_view path);

// Every path of the packages once, in order of paths, with diversions undone where the package that
// diverts is not part of the image, and without what is excluded. `only`, where it is not empty, leaves out
// what matches none of its patterns.
// Errors: invalid, where two packages claim one file.
Result<std::vector<PackagedPath>> plan_paths(const std::vector<PackageFiles>& packages,
                                             const std::vector<Diversion>& diversions,
                                             const std::vector<std::string>& only,
                                             const std::vector<Exclusion>& exclusions);

struct Item {
  EntryType type = EntryType::kDirectory;
  bool executable = false;
  std::string source;   // of a file that is copied: where it is on the machine that builds
  std::string md5;      // of a file that is copied: what it must hold
  std::string package;  // of a file that is copied
  std::string content;  // of a file that is made: its bytes; of a link: its target
  bool kept = false;    // a link that may lead to what only a running box has
};

inline Item make_link(std::string target) {
  Item item;
  item.type = EntryType::kLink;
  item.content = std::move(target);
  return item;
}

// By path.
using Layout = std::map<std::string, Item>;

// Adds the links of every alternative that has a choice in the layout: the one of highest priority,
// the first of equals. What the machine that builds has chosen does not count.
void add_alternatives(const std::vector<Alternative>& alternatives, Layout& layout);

// Adds the directories that hold the items. Errors: invalid, where one of them is a file or a link.
Result<void> add_parents(Layout& layout);

// Whether `path` leads to something in the layout, through links as the kernel would follow them.
bool leads_somewhere(const Layout& layout, std::string_view path);

// Removes the links that lead nowhere, and then those that led to them.
void drop_dangling_links(Layout& layout);

}  // namespace casemate::image
