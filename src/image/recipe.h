// Recipes: what an image is made of. Those that there are are here; a test has a small one of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/dpkg.h"
#include "image/layout.h"

namespace casemate::image {

struct MadeFile {
  std::string path;
  std::string content;
};

struct MadeLink {
  std::string path;
  std::string target;  // need not exist in the image
};

// What a step's output is good for.
enum class StepOutput {
  kIgnored,
  kFacts,  // lines "python 3.11.2" and "module NAME", for `about`
};

// Programs of the image that are run in it (chroot(2), no network of the image's making) once its
// files are in place: what maintainer scripts do on an ordinary system.
struct Step {
  std::string what;  // "byte-compile Python"
  // Argument vectors, run side by side. Which of them does what must not depend on the machine.
  std::vector<std::vector<std::string>> commands;
  StepOutput output = StepOutput::kIgnored;
};

// One file of an unpacked package, and what it is called in the image.
struct TakenFile {
  // fnmatch(3) without flags ('*' also matches '/') over the path in the package, /lib and the like merged
  // into /usr. Exactly one regular file must match.
  std::string pattern;
  std::string path;  // its directory is one of the recipe's
  // A kernel module is not missed where the package's modules.builtin names it: the kernel has it in itself.
  bool module = false;
};

// A package that must not be installed where images are built, such as a kernel, which would come to be
// what the machine starts next. Its file is fetched by apt, which holds it against the archive's signed
// checksums, and some of its files are taken from there; nothing else is done with it.
struct UnpackedPackage {
  std::string meta;     // the package, of apt's lists, whose Depends names the one that is meant
  std::string pattern;  // and what that one is called: "linux-image-*-cloud-amd64"
  std::vector<TakenFile> files;
  // A package file that somebody has already, to be taken as it is: nothing vouches for it. Empty: fetch it.
  std::string given;
  std::uint64_t bytes_max = std::uint64_t{4} << 30;  // of all its files, unpacked
  // Programs of this machine.
  std::string apt_cache = "/usr/bin/apt-cache";
  std::string apt_get = "/usr/bin/apt-get";
};

struct Recipe {
  std::string name;
  // Where dpkg's database and the files are. The files are only read, and only copied.
  std::string admin_dir = "/var/lib/dpkg";
  std::string root = "/";
  std::string architecture;  // as dpkg names it
  std::string only_on;       // the one architecture that it is for; empty: any
  std::vector<std::string> packages;
  std::vector<Cut> cuts;
  // Of the packages' files, those that match one of these patterns (as an exclusion's) and no exclusion.
  // Empty: all that no exclusion matches.
  std::vector<std::string> only;
  std::vector<Exclusion> exclusions;
  std::optional<UnpackedPackage> unpacked;
  std::vector<std::string> directories;
  std::vector<MadeFile> files;
  std::vector<MadeLink> links;
  std::vector<Step> steps;
  std::vector<std::string> step_environment;
  // Directories that the steps may have written to, emptied after them.
  std::vector<std::string> scratch;
};

// Python with numpy, pandas and matplotlib, a shell and the ordinary tools, from Debian's packages.
Recipe python_recipe();

// What a box needs to run a virtual machine in: QEMU and its libraries, Debian's cloud kernel as
// /boot/vmlinuz, and the modules that it boots with in /usr/lib/microvm/modules.
Recipe microvm_recipe();

// Every recipe that there is, the default one first; and the one of this name, or nothing.
std::vector<Recipe> recipes();
std::optional<Recipe> find_recipe(std::string_view name);
// "python, microvm": for messages.
std::string recipe_names();

// What dpkg calls the architecture of this machine.
const char* dpkg_architecture();

// "sha256:…" of all that the recipe says, except where the machine keeps its packages. An image
// made by another recipe is out of date.
std::string recipe_digest(const Recipe& recipe);

}  // namespace casemate::image
