#include "image_options.h"

namespace casemate {
namespace {

// The table of a command that the options below are common to.
Command command_of(const char* name, const char* summary, const char* examples, ImageArguments& arguments) {
  return Command{name,
                 summary,
                 {},
                 {{"--store", "DIR",
                   "directory of images (default: /var/lib/casemate/images for root, else "
                   "$XDG_DATA_HOME/casemate/images)",
                   &arguments.store}},
                 examples};
}

}  // namespace

const char* const kImageUsage =
    "Builds, imports, lists, inspects and verifies the images that boxes run in.\n"
    "\n"
    "  casemate image build [RECIPE]   build an image from the Debian packages installed here\n"
    "  casemate image import FILE      import an OCI image archive\n"
    "  casemate image list             list the images\n"
    "  casemate image inspect IMAGE    show an image's packages and Python modules\n"
    "  casemate image verify IMAGE     compare every file with the image's digest\n"
    "  casemate image squashfs IMAGE   make the file that a virtual machine has the image from\n"
    "\n"
    "`casemate image COMMAND --help` says more.\n";

Command image_build_table(ImageArguments& arguments) {
  Command command = command_of(
      "casemate image build", "Builds an image from the Debian packages installed here.",
      "The kernel of `microvm` is fetched with apt and unpacked, never installed.\n"
      "\n"
      "Examples:\n"
      "  casemate image build\n"
      "  casemate image build --store /srv/images python\n"
      "  casemate image build microvm\n"
      "  casemate image build microvm --kernel linux-image-6.1.0-57-cloud-amd64_6.1.192-3_amd64.deb",
      arguments);
  command.arguments.push_back({"RECIPE", "what to build: python (the default) or microvm", &arguments.name});
  command.options.push_back({"--force", nullptr,
                             "build even if the image is up to date; replaces a damaged one",
                             &arguments.force});
  command.options.push_back(
      {"--kernel", "FILE", "take this Debian package for the kernel of `microvm`, unchecked, and fetch none",
       &arguments.kernel});
  return command;
}

Command image_import_table(ImageArguments& arguments) {
  Command command =
      command_of("casemate image import", "Imports an OCI image archive, a tar file of an OCI image layout.",
                 "Nothing of the image runs while it is imported. Owners, set-id bits, devices and extended "
                 "attributes are\n"
                 "left behind; paths and links that lead out of the image, and content without its digest, "
                 "refuse it. A\n"
                 "program can run in it if it has python3 in /usr/bin or /usr/local/bin, 3.9 or later.\n"
                 "\n"
                 "Examples:\n"
                 "  skopeo copy docker://registry.example/analysis:1 oci-archive:analysis.tar\n"
                 "  casemate image import analysis.tar --name analysis\n"
                 "  casemate run --trust trusted --image analysis program.py",
                 arguments);
  command.arguments.push_back(
      {"FILE", "the archive; - for standard input", &arguments.file, /*required=*/true});
  command.options.push_back({"--name", "NAME",
                             "what to call the image, in place of another of that name (by default: as FILE, "
                             "if no image has that name)",
                             &arguments.new_name});
  return command;
}

Command image_list_table(ImageArguments& arguments) {
  return command_of("casemate image list", "Lists the images.", "Examples:\n  casemate image list",
                    arguments);
}

Command image_inspect_table(ImageArguments& arguments) {
  Command command = command_of(
      "casemate image inspect", "Shows an image's packages and Python modules.",
      "Examples:\n  casemate image inspect python\n  casemate image inspect python --json", arguments);
  command.arguments.push_back({"IMAGE", "name or digest", &arguments.name, /*required=*/true});
  command.options.push_back({"--json", nullptr, "one JSON document", &arguments.json});
  return command;
}

Command image_verify_table(ImageArguments& arguments) {
  Command command = command_of(
      "casemate image verify", "Compares every file with the image's digest; exit 1 on a fault.",
      "Examples:\n  casemate image verify python\n  casemate image verify python --quick", arguments);
  command.arguments.push_back({"IMAGE", "name or digest", &arguments.name, /*required=*/true});
  command.options.push_back(
      {"--quick", nullptr, "compare names, types, modes and sizes; do not read the files", &arguments.quick});
  return command;
}

Command image_squashfs_table(ImageArguments& arguments) {
  Command command =
      command_of("casemate image squashfs",
                 "Makes the file that a virtual machine has the image from, if there is none yet.",
                 "Examples:\n  casemate image squashfs python", arguments);
  command.arguments.push_back({"IMAGE", "name or digest", &arguments.name, /*required=*/true});
  return command;
}

}  // namespace casemate
