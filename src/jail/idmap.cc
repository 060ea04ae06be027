// Writing the id maps of a nest: directly as root, else through the set-id programs of the uidmap
// package, which check /etc/subuid themselves. user_namespaces(7).
#include <fcntl.h>
#include <unistd.h>

#include "jail/instance.h"
#include "sys/process.h"

namespace casemate::jail {
namespace {

constexpr milliseconds kHelperTime{10'000};

Result<void> write_proc(int pid, const char* file, const std::string& text) {
  return sys::write_file_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/" + file, text);
}

std::string line(std::uint32_t inside, std::uint32_t outside, std::uint32_t count) {
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) + "\n";
}

Result<sys::Child> start_helper(const char* program, int pid, std::uint32_t nest, std::uint32_t first,
                                std::uint32_t count) {
  for (const std::string directory : {"/usr/bin/", "/bin/", "/usr/local/bin/", "/sbin/"}) {
    const std::string path = directory + program;
    if (::access(path.c_str(), X_OK) != 0) continue;
    return sys::spawn({path,
                       {program, std::to_string(pid), "0", std::to_string(nest), "1", "1",
                        std::to_string(first), std::to_string(count)},
                       {},
                       {}});
  }
  return fail(ErrorCode::kDenied, std::string(program) + " is not installed: install the package uidmap");
}

Result<void> helper_ended(sys::Child& helper, const char* program) {
  const sys::ExitStatus status = TRY(helper.wait(Deadline::in(kHelperTime)));
  if (status.code != 0) {
    return fail(ErrorCode::kDenied,
                std::string(program) + " refused the id map; check /etc/subuid and /etc/subgid");
  }
  return {};
}

}  // namespace

Result<void> write_id_maps(const IdRange& ids, int pid) {
  if (ids.single) {
    // gid_map may be written without privilege only once setgroups is denied (CVE-2014-8989).
    TRY(write_proc(pid, "setgroups", "deny"));
    TRY(write_proc(pid, "uid_map", line(0, ids.nest_uid, 1)));
    return write_proc(pid, "gid_map", line(0, ids.nest_gid, 1));
  }
  if (ids.by_root) {
    TRY(write_proc(pid, "uid_map", line(0, ids.nest_uid, ids.count + 1)));
    return write_proc(pid, "gid_map", line(0, ids.nest_gid, ids.count + 1));
  }
  // Both at once: each is a set-id program that starts, checks and writes one file.
  sys::Child uids = TRY(start_helper("newuidmap", pid, ids.nest_uid, ids.first_uid, ids.count));
  sys::Child gids = TRY(start_helper("newgidmap", pid, ids.nest_gid, ids.first_gid, ids.count));
  TRY(helper_ended(uids, "newuidmap"));
  return helper_ended(gids, "newgidmap");
}

}  // namespace casemate::jail
