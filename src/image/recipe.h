// Recipes: what an image is made of. The default one is here; a test has a small one of its own.
#pragma once

#include <cstdint>
#include <string>
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

struct Recipe {
  std::string name;
  // Where dpkg's database and the files are. The files are only read, and only copied.
  std::string admin_dir = "/var/lib/dpkg";
  std::string root = "/";
  std::string architecture;  // as dpkg names it
  std::vector<std::string> packages;
  std::vector<Cut> cuts;
  std::vector<Exclusion> exclusions;
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

// "sha256:…" of all that the recipe says, except where the machine keeps its packages. An image
// made by another recipe is out of date.
std::string recipe_digest(const Recipe& recipe);

}  // namespace casemate::image
