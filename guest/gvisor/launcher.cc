// casemate-gvisor: the first program of a box of the gvisor rung. It becomes root of a user namespace of its
// own, describes the guest's program to runsc as an OCI bundle, and executes it.
//
//     casemate-gvisor own|shared FILE-SIZE OPEN-FILES PROGRAM ARGUMENT...
//
// `shared`: runs follow one another in it, each as another user, made and ended by the program's process,
// which has what that takes of the guest's kernel's capabilities. The two limits are the guest's, which its
// own kernel keeps: bytes of a file, and descriptors of a process. Descriptors: 0, 1 and 2 are the program's;
// 3 is the control socket, 4 is runsc. runsc hands on no more than three: the guest finds the control socket
// as its 0, and the program's input, if any, as a file in its /run, which is just as large. The environment
// is the program's. The bundle and what runsc keeps are in a file system of its own at /run, which the guest
// does not have.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "init/init.h"

namespace {

constexpr const char* kBundle = "/run/bundle";
constexpr const char* kState = "/run/runsc";
constexpr const char* kGuestRun = "/run/guest";  // the guest's /run
constexpr int kExitFailed = 125;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "casemate: the gVisor box could not be made: %s: %s\n", what, std::strerror(errno));
  std::_Exit(kExitFailed);
}

void write_file(const char* path, std::string_view text) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) die(path);
  while (!text.empty()) {
    const ssize_t put = ::write(file, text.data(), text.size());
    if (put < 0) die(path);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  (void)::close(file);
}

// As JSON text. What is not UTF-8 does not get here: the engine wrote these strings.
std::string quoted(const char* text) {
  std::string out = "\"";
  for (const char* at = text; *at != '\0'; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += *at;
    } else if (byte < 0x20) {
      char escaped[8];
      (void)std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      out += escaped;
    } else {
      out += *at;
    }
  }
  return out + '"';
}

std::string list_of(char* const* texts) {
  std::string out;
  for (; *texts != nullptr; ++texts) out += (out.empty() ? "" : ",") + quoted(*texts);
  return "[" + out + "]";
}

// Of the guest's kernel, for what makes runs in it and ends them (guest/zygote/shared_module.cc): to become
// another user, to give that one directories, to end its processes, to mount. Nobody has them who runs a
// program.
constexpr const char* kSharedCapabilities =
    R"("CAP_SETUID","CAP_SETGID","CAP_SETPCAP","CAP_CHOWN","CAP_KILL","CAP_SYS_ADMIN")";

// What the guest sees: the box's tree, which it can write to where the box can; /proc, /dev and /sys of its
// own kernel. The layer's limits hold for it, since it is the box's own tmpfs.
std::string config(const std::string& capabilities, const std::string& file_size,
                   const std::string& open_files, bool input, char* const* arguments,
                   char* const* environment) {
  const auto limit = [](const char* name, const std::string& value) {
    return std::string(R"({"type":")") + name + R"(","soft":)" + value + R"(,"hard":)" + value + "}";
  };
  std::string out = R"({"ociVersion":"1.0.2","process":{"terminal":false,"user":{"uid":0,"gid":0},)"
                    R"("cwd":"/vol/work","noNewPrivileges":true,"capabilities":{)";
  for (const char* set : {"bounding", "effective", "permitted"})
    out += std::string("\"") + set + "\":[" + capabilities + "],";
  out += R"("inheritable":[],"ambient":[]},"args":)";
  out += list_of(arguments) + ",\"env\":" + list_of(environment) + ",\"rlimits\":[" +
         limit("RLIMIT_FSIZE", file_size) + "," + limit("RLIMIT_NOFILE", open_files) + "," +
         limit("RLIMIT_CORE", "0") + "]";
  out += R"(},"root":{"path":"/","readonly":false},"hostname":"box","mounts":[)"
         R"({"destination":"/proc","type":"proc","source":"proc"},)"
         // Named, or runsc would put some of its own there, without the box's limits.
         R"({"destination":"/tmp","type":"bind","source":"/tmp","options":["rbind","rw"]},)"
         R"({"destination":"/dev/shm","type":"bind","source":"/dev/shm","options":["rbind","rw"]},)"
         R"({"destination":"/run","type":"bind","source":"/run/guest","options":["rbind",)";
  out += input ? "\"rw\"" : "\"ro\"";  // casemate-init removes the input when it has opened it
  out += R"(]}],)"
         R"("linux":{"namespaces":[{"type":"pid"},{"type":"mount"},{"type":"ipc"},{"type":"uts"},)"
         R"({"type":"network"}]}})";
  return out;
}

std::uint64_t size_of_input() {
  struct stat status {};
  if (::fstat(0, &status) < 0) die("look at the input");
  return S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;  // else it is /dev/null
}

// The guest's /run: what the program is to read, where casemate-init looks for it, and no room beside it.
void make_guest_run(std::uint64_t input) {
  if (::mkdir(kGuestRun, 0755) < 0) die(kGuestRun);
  const std::string options = "mode=0755,nr_inodes=3,size=" + std::to_string(input + 4096);
  if (::mount("run", kGuestRun, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()) < 0)
    die("mount the guest's /run");
  if (input == 0) return;
  const std::string path = std::string(kGuestRun) + "/" + casemate::guest::kInputName;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) die(path.c_str());
  std::array<char, 1 << 14> buffer{};
  for (;;) {
    const ssize_t got = ::read(0, buffer.data(), buffer.size());
    if (got < 0) die("read the input");
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(file, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0) die(path.c_str());
      done += put;
    }
  }
  (void)::close(file);
}

// Root of a namespace that holds nothing but this box's one user: what runsc asks for to make namespaces.
void become_root() {
  const std::string uid = "0 " + std::to_string(::getuid()) + " 1";
  const std::string gid = "0 " + std::to_string(::getgid()) + " 1";
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) die("unshare");
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", uid);
  write_file("/proc/self/gid_map", gid);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return kExitFailed;
  const bool shared = std::string_view(argv[1]) == "shared";
  become_root();
  if (::mount("runtime", "/run", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700,size=16m") < 0)
    die("mount /run");
  if (::mkdir(kBundle, 0700) < 0 || ::mkdir(kState, 0700) < 0) die("make a directory in /run");
  const std::uint64_t input = size_of_input();
  make_guest_run(input);
  write_file((std::string(kBundle) + "/config.json").c_str(),
             config(shared ? kSharedCapabilities : "", argv[2], argv[3], input > 0, argv + 4, environ));
  if (::dup2(3, 0) < 0) die("dup2");
  (void)::close(3);
  if (::fcntl(4, F_SETFD, FD_CLOEXEC) < 0) die("fcntl");
  const char* arguments[] = {"runsc",
                             "--root",
                             kState,
                             "--platform=ptrace",
                             "--network=none",
                             "--ignore-cgroups",
                             "--rootless",
                             "run",
                             "--bundle",
                             kBundle,
                             "box",
                             nullptr};
  const char* environment[] = {"PATH=/usr/bin:/bin", nullptr};
  (void)::syscall(SYS_execveat, 4, "", arguments, environment, AT_EMPTY_PATH);
  die("execute runsc");
}
