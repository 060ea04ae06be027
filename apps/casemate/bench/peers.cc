#include "bench/peers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/split.h"
#include "bench/bundle.h"
#include "sys/fd.h"

namespace casemate::bench {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

std::string find_program(const std::string& name) {
  const char* given = ::getenv("PATH");
  std::vector<std::string> directories = split(given != nullptr ? given : "/usr/bin:/bin", ':');
  directories.emplace_back("/usr/sbin");
  for (const std::string& directory : directories) {
    const std::string path = directory + "/" + name;
    if (directory.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace

std::vector<Peer> known_peers() {
  return {
      {"python3", "none", ::access(kPython, X_OK) == 0 ? kPython : ""},
      {"bwrap",
       "namespaces: user, mount, pid, network, IPC, UTS, cgroup; read-only root; no capabilities; no "
       "system-call "
       "filter, no limits",
       find_program("bwrap")},
      {"runc",
       "namespaces: mount, pid, network, IPC, UTS; read-only root; no capabilities; another user; limits of "
       "memory "
       "and processes; no system-call filter",
       find_program("runc")},
      {"runsc",
       "as runc, and a kernel of its own in user space (gVisor, platform ptrace): a stronger wall than "
       "casemate's jail",
       find_program("runsc")},
  };
}

std::vector<std::string> python_arguments(const std::string& program) {
  return {kPython, "-I", "-B", "-X", "faulthandler", "-c", program};
}

std::vector<std::string> plain_environment() { return {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}; }

namespace {

// What runs of a runtime that nobody waited for have left, in control groups above all.
void remove_containers(const std::string& path) {
  std::error_code ignored;
  for (const char* runtime : {"runc", "runsc"}) {
    const std::string state = path + "/" + runtime;
    for (const auto& entry : std::filesystem::directory_iterator(state, ignored)) {
      (void)launch({"/usr/bin/env",
                    {"env", runtime, "--root", state, "delete", "--force", entry.path().filename().string()},
                    plain_environment(),
                    {}});
    }
  }
}

// A child that removes the directory when nobody has the other end of the pipe any more.
Result<sys::Fd> start_sweeper(const std::string& path) {
  sys::Pair pipe = TRY(sys::make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child > 0) return std::move(pipe.second);
  pipe.second.reset();
  (void)::setsid();  // Ctrl-C is for the others
  char nothing = 0;
  ssize_t got = 1;
  while (got > 0 || (got < 0 && errno == EINTR)) got = ::read(pipe.first.get(), &nothing, 1);
  remove_containers(path);
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  ::_exit(0);
}

}  // namespace

Result<PeerRoom> PeerRoom::make(std::string rootfs) {
  const char* temporary = ::getenv("TMPDIR");
  std::string path = std::string(temporary != nullptr ? temporary : "/tmp") + "/casemate-bench-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno("make a directory like " + path);
  sys::Fd alive = TRY(start_sweeper(path));
  return PeerRoom(std::move(rootfs), std::move(path), std::move(alive));
}

PeerRoom::~PeerRoom() {
  std::error_code ignored;
  if (path_.empty()) return;
  remove_containers(path_);
  std::filesystem::remove_all(path_, ignored);
}

Result<std::string> PeerRoom::make_bundle(const std::string& program) {
  const std::string path = path_ + "/bundle" + std::to_string(++bundles_);
  if (::mkdir(path.c_str(), 0700) < 0) return fail_errno("make " + path);
  const sys::Fd file = TRY(sys::open_at(AT_FDCWD, path + "/config.json", O_WRONLY | O_CREAT | O_EXCL, 0600));
  TRY(sys::write_all(file, bundle_config(rootfs_, python_arguments(program), plain_environment()),
                     Deadline::in(milliseconds{5000})));
  return path;
}

Result<Launch> PeerRoom::launch_of(const Peer& peer, const std::string& program) {
  Launch launch;
  launch.program = peer.program;
  launch.environment = plain_environment();
  std::vector<std::string>& arguments = launch.arguments;
  if (peer.name == "python3") {
    arguments = python_arguments(program);
  } else if (peer.name == "bwrap") {
    arguments = {"bwrap",
                 "--unshare-all",
                 "--die-with-parent",
                 "--new-session",
                 "--ro-bind",
                 rootfs_,
                 "/",
                 "--proc",
                 "/proc",
                 "--dev",
                 "/dev",
                 "--tmpfs",
                 "/tmp",
                 "--chdir",
                 "/tmp"};
    const std::vector<std::string> python = python_arguments(program);
    arguments.insert(arguments.end(), python.begin(), python.end());
  } else {
    const std::string state = path_ + "/" + peer.name;
    (void)::mkdir(state.c_str(), 0700);  // it is there after the first time
    arguments = {peer.name, "--root", state};
    if (peer.name == "runsc") {
      for (const char* flag : {"--platform=ptrace", "--network=none"}) arguments.emplace_back(flag);
      if (::geteuid() != 0) arguments.emplace_back("--rootless");
    }
    launch.removal = arguments;
    launch.removal.insert(launch.removal.end(), {"delete", "--force"});
    const std::string bundle = TRY(make_bundle(program));
    arguments.insert(arguments.end(), {"run", "--bundle", bundle});
  }
  return launch;
}

}  // namespace casemate::bench
