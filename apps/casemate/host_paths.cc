#include "host_paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace casemate {

Result<std::string> programs_folder() {
  std::string self(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
  if (size <= 0) return fail_errno("find this program through /proc");
  self.resize(static_cast<std::size_t>(size));
  return self.substr(0, self.rfind('/'));
}

Result<engine::Paths> find_parts(const char* warden_name) {
  const std::string directory = TRY(programs_folder());
  engine::Paths paths;
  paths.warden = directory + "/" + warden_name;
#ifdef CASEMATE_TEST_HOOKS
  paths.guest_tree = directory + "/../share/casemate/guest_test_hooks";
  paths.walls_off_in_slots = true;
#else
  paths.guest_tree = directory + "/../share/casemate/guest";
#endif
  // Where Debian's package has it, and not where PATH says.
  if (::access("/usr/bin/runsc", X_OK) == 0) {
    paths.runsc = "/usr/bin/runsc";
    paths.rungs.no_gvisor.clear();
  }
  const auto is_there = [](const char* program) { return ::access(program, X_OK) == 0; };
  if (is_there("/usr/bin/qemu-system-x86_64"))
    paths.rungs.no_microvm = is_there("/usr/bin/mksquashfs")
                                 ? ""
                                 : "mksquashfs is not installed: install Debian's package squashfs-tools";
  for (const std::string& path : {paths.warden, paths.guest_tree}) {
    if (::access(path.c_str(), F_OK) != 0) {
      return fail(ErrorCode::kUnavailable,
                  "a part of casemate is missing: " + path + "; build or install it again");
    }
  }
  return paths;
}

Result<std::string> build_stamp() {
  struct stat status {};
  if (::stat("/proc/self/exe", &status) < 0) return fail_errno("look at this program");
  return std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

Result<std::string> cache_directory() {
  const auto variable = [](const char* name) {
    const char* value = ::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (::geteuid() == 0) return std::string("/var/cache/casemate");
  // The XDG specification: a relative path is invalid and to be ignored.
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/'))
    return cache + "/casemate";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/casemate";
  return fail(ErrorCode::kNotFound, "there is no place for caches: neither XDG_CACHE_HOME nor HOME is set");
}

}  // namespace casemate
