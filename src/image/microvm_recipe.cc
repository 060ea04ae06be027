#include "image/recipe.h"

namespace casemate::image {
namespace {

// What would only be needed for machines with more than a microvm has. QEMU loads none of it here: the
// modules that want these libraries are left out with them.
std::vector<Cut> cuts() {
  const char* const no_display = "for machines with a display, sound or a keyboard";
  const char* const no_usb = "for machines with USB";
  const char* const no_set_up = "installs and configures packages; nothing is installed in a box";
  return {
      {"seabios", "firmware of other machines"},
      {"ipxe-qemu", "firmware of network cards"},
      {"libspice-server1", no_display},
      {"libasound2", no_display},
      {"libbrlapi0.8", no_display},
      {"libepoxy0", no_display},
      {"libgbm1", no_display},
      {"libncursesw6", no_display},
      {"libsndio7.0", no_display},
      {"libtinfo6", no_display},
      {"libcacard0", no_usb},
      {"libusb-1.0-0", no_usb},
      {"libusbredirparser1", no_usb},
      {"libcap-ng0", "for virtfs-proxy-helper"},
      {"libexecs0", "for plugins of VDE networks"},
      {"libsasl2-modules-db", "for VNC with passwords"},
      {"adduser", no_set_up},
      {"debconf", no_set_up},
      {"debconf-2.0", no_set_up},
  };
}

std::vector<Exclusion> exclusions() {
  const char* const unused = "of the C library; for programs that ask for it by name";
  return {
      {"/usr/lib/x86_64-linux-gnu/lib*/*", "plugins of a library, none of which QEMU loads here"},
      {"/usr/lib/x86_64-linux-gnu/libnss_*", unused},
      {"/usr/lib/x86_64-linux-gnu/libBrokenLocale*", unused},
      {"/usr/lib/x86_64-linux-gnu/libc_malloc_debug*", unused},
      {"/usr/lib/x86_64-linux-gnu/libmemusage*", unused},
      {"/usr/lib/x86_64-linux-gnu/libmvec*", unused},
      {"/usr/lib/x86_64-linux-gnu/libpcprofile*", unused},
      {"/usr/lib/x86_64-linux-gnu/libthread_db*", unused},
      {"/usr/lib/x86_64-linux-gnu/libvdeplug_mod*", "a plugin, for VDE networks"},
  };
}

// Debian's kernel for virtual machines, of which a microvm needs no other driver than these.
UnpackedPackage kernel() {
  UnpackedPackage kernel;
  kernel.meta = "linux-image-cloud-amd64";
  kernel.pattern = "linux-image-*-cloud-amd64";
  kernel.files = {{"/boot/vmlinuz-*", "/boot/vmlinuz"}};
  for (const char* name :
       {"virtio_ring", "virtio", "virtio_mmio", "virtio_console", "virtio_blk", "squashfs", "overlay"}) {
    const std::string file = "/" + std::string(name) + ".ko";
    kernel.files.push_back({"/usr/lib/modules/*" + file, "/usr/lib/microvm/modules" + file, /*module=*/true});
  }
  return kernel;
}

}  // namespace

Recipe microvm_recipe() {
  Recipe recipe;
  recipe.name = "microvm";
  recipe.architecture = dpkg_architecture();
  recipe.only_on = "amd64";
  // The last two bring the emulator's translator and its firmware.
  recipe.packages = {"qemu-system-x86", "qemu-system-common", "qemu-system-data"};
  recipe.cuts = cuts();
  // Every library of the packages that are left. Some two megabytes are more than QEMU loads; to work out
  // which would be to read ELF files for them.
  recipe.only = {
      "/usr/bin/qemu-system-x86_64",
      "/usr/lib64/ld-linux-x86-64.so.2",
      "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
      "/usr/lib/x86_64-linux-gnu/lib*.so*",
      "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so",
      "/usr/share/qemu/qboot.rom",
  };
  recipe.exclusions = exclusions();
  recipe.directories = {"/boot", "/dev", "/proc", "/root", "/run", "/tmp", "/usr/lib/microvm/modules",
                        "/vol"};
  recipe.files = {{"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nbox:x:1000:1000:box:/vol/home:/bin/sh\n"},
                  {"/etc/group", "root:x:0:\nbox:x:1000:\n"}};
  recipe.links = {{"/bin", "usr/bin"}, {"/lib", "usr/lib"}, {"/lib64", "usr/lib64"}, {"/work", "/vol/work"}};
  recipe.unpacked = kernel();
  return recipe;
}

}  // namespace casemate::image
