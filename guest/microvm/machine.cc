#include "microvm/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "microvm/archive.h"

namespace casemate::guest {
namespace {

constexpr const char* kInit = "/usr/lib/casemate/casemate-vm-init";
constexpr const char* kRunner = "/usr/lib/casemate/python";
constexpr const char* kTools = "/tools";  // where there are capabilities
constexpr const char* kModules = "/usr/lib/microvm/modules";
constexpr int kExitFailed = 125;

std::string content_of(int file, const char* name) {
  std::string content;
  std::array<char, 1 << 16> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) != 0;) {
    if (got < 0) die(name);
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return content;
}

std::string content_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) die(path.c_str());
  std::string content = content_of(file, path.c_str());
  (void)::close(file);
  return content;
}

// A directory of the box's own root, which the guest finds at the same place; or its files alone, elsewhere.
void add_tree(Archive& archive, const std::string& path, const std::string& as) {
  archive.add_directory(as);
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) die(path.c_str());
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const std::string below = path + "/" + entry->d_name, name = as + "/" + entry->d_name;
    struct stat status {};
    if (::lstat(below.c_str(), &status) < 0) die(below.c_str());
    if (S_ISDIR(status.st_mode)) add_tree(archive, below, name);
    if (S_ISREG(status.st_mode)) archive.add_file(name, 0644, content_of(below));
  }
  (void)::closedir(directory);
}

int make_initramfs(const MachineRequest& request) {
  Archive archive;
  archive.add_file("init", 0755, content_of(kInit));
  add_tree(archive, kModules, "modules");
  for (const char* directory : {"guest", "guest/usr", "guest/usr/lib", "guest/usr/lib/casemate"})
    archive.add_directory(directory);
  add_tree(archive, kRunner, std::string("guest") + kRunner);
  if (::access(kTools, F_OK) == 0) add_tree(archive, kTools, std::string("guest") + kTools);
  archive.add_file("command", 0644, request.command);
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) < 0) die("look at the input");
  if (S_ISREG(input.st_mode))  // else it is /dev/null
    archive.add_file("input", 0600, content_of(STDIN_FILENO, "the input"));
  const int memory = ::memfd_create("initramfs", 0);
  if (memory < 0) die("memfd_create");
  const std::string bytes = archive.finish();
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t put = ::write(memory, left.data(), left.size());
    if (put < 0) die("write the initramfs");
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  return memory;
}

std::string counter_khz() {
  const auto nanoseconds = [] {
    timespec time{};
    (void)::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  };
  const std::uint64_t begun = nanoseconds(), first = __rdtsc();
  const timespec pause{0, 20'000'000};
  (void)::nanosleep(&pause, nullptr);
  const std::uint64_t ended = nanoseconds(), last = __rdtsc();
  return std::to_string((last - first) * 1'000'000 / (ended - begun));
}

[[noreturn]] void execute(const std::vector<std::string>& arguments, bool heard) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What it says of itself is not the program's output; but before there is a program it is why there is
  // none.
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < (heard ? 2 : 3); ++fd) (void)::dup2(nothing, fd);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  (void)::execve(argv.front(), argv.data(), environment);
  ::_exit(kExitFailed);
}

}  // namespace

void die(const char* what) {
  std::fprintf(stderr, "casemate: the microvm could not be made: %s: %s\n", what, std::strerror(errno));
  std::_Exit(kExitFailed);
}

Machine start_machine(const MachineRequest& request, int image, int memory) {
  const auto make_pair = [](int& ours, int& theirs) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) die("socketpair");
    (void)::fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    ours = pair[0];
    theirs = pair[1];
  };
  Machine machine;
  MachineEnds ends;
  ends.image = image;
  make_pair(machine.port, ends.port);
  (void)::fcntl(machine.port, F_SETFL, O_NONBLOCK);
  if (request.kind != MachineKind::kBooted) {
    ends.memory = memory;
    make_pair(machine.monitor, ends.monitor);
  }
  const bool boots = request.kind != MachineKind::kRestored;
  if (boots) ends.initramfs = make_initramfs(request);
  const std::vector<std::string> arguments = machine_arguments(request, ends, boots ? counter_khz() : "");
  machine.pid = ::fork();
  if (machine.pid < 0) die("fork");
  if (machine.pid == 0) execute(arguments, request.kind != MachineKind::kBooted);
  for (const int fd : {ends.initramfs, ends.image, ends.memory, ends.port, ends.monitor}) {
    if (fd >= 0) (void)::close(fd);
  }
  return machine;
}

}  // namespace casemate::guest
