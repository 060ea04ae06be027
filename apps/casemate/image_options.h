// What `casemate image` and its commands take, and what --help says of them.
#pragma once

#include <optional>
#include <string>

#include "options.h"

namespace casemate {

// Of all the commands: each table fills its own part.
struct ImageArguments {
  std::optional<std::string> store;
  std::string name = "python";
  std::string file;
  std::optional<std::string> new_name;
  std::optional<std::string> kernel;
  bool force = false;
  bool json = false;
  bool quick = false;
};

extern const char* const kImageUsage;

// The arguments must outlive the table.
Command image_build_table(ImageArguments& arguments);
Command image_import_table(ImageArguments& arguments);
Command image_list_table(ImageArguments& arguments);
Command image_inspect_table(ImageArguments& arguments);
Command image_verify_table(ImageArguments& arguments);
Command image_squashfs_table(ImageArguments& arguments);

}  // namespace casemate
