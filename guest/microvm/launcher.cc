// casemate-microvm: the first program of a box of the microvm rung. Starts QEMU on a kernel, an initramfs and the
// image of the program, and is the guest's end of the engine's channels.
//
//     casemate-microvm NAME=VALUE... -- PROGRAM ARGUMENT...
//
// memory (MiB of the guest), disk (bytes), inodes, file_size, open_files, processes: the guest's limits, which its
// own kernel keeps. Descriptors: 0, 1 and 2 are the program's, 3 is the control socket, 4 the image of the program
// as a squashfs. The environment is the program's. The box's own root has QEMU, the kernel and its modules.
//
//     engine ── control, stdout, stderr ── casemate-microvm ── five sockets ── QEMU ── ports ── casemate-vm-init
//
// Everything that comes from QEMU is as hostile as the guest.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/end_frame.h"
#include "microvm/keeper.h"

namespace casemate::guest {
namespace {

constexpr const char* kQemu = "/usr/bin/qemu-system-x86_64";
constexpr const char* kInit = "/usr/lib/casemate/casemate-vm-init";
constexpr const char* kKernel = "/boot/vmlinuz";
constexpr const char* kRunner = "/usr/lib/casemate/python";
constexpr const char* kModules = "/usr/lib/casemate/modules";
constexpr int kExitFailed = 125;
constexpr int kExitSignalled = 128;
constexpr int kDrainMs = 10'000;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "casemate: the microvm could not be made: %s: %s\n", what, std::strerror(errno));
  std::_Exit(kExitFailed);
}

// ---- The initramfs: a cpio archive in memory (newc: Documentation/driver-api/early-userspace/buffer-format.rst)

class Archive {
 public:
  void add(const std::string& path, std::uint32_t mode, std::string_view content) {
    char header[111];
    (void)std::snprintf(header, sizeof(header),
                        "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", ++inode_, mode, 0U, 0U, 1U, 0U,
                        static_cast<unsigned>(content.size()), 0U, 0U, 0U, 0U,
                        static_cast<unsigned>(path.size() + 1), 0U);
    bytes_ += header;
    bytes_ += path;
    bytes_ += '\0';
    pad();
    bytes_ += content;
    pad();
  }
  void add_directory(const std::string& path) { add(path, S_IFDIR | 0755, {}); }
  // As a descriptor that QEMU can open by its path in /proc.
  int finish() {
    add("TRAILER!!!", 0, {});
    const int memory = ::memfd_create("initramfs", 0);
    if (memory < 0) die("memfd_create");
    std::string_view left = bytes_;
    while (!left.empty()) {
      const ssize_t put = ::write(memory, left.data(), left.size());
      if (put < 0) die("write the initramfs");
      left.remove_prefix(static_cast<std::size_t>(put));
    }
    return memory;
  }

 private:
  void pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0'); }
  std::string bytes_;
  std::uint32_t inode_ = 0;
};

std::string content_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) die(path.c_str());
  std::string content;
  std::array<char, 1 << 16> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) != 0;) {
    if (got < 0) die(path.c_str());
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
  (void)::close(file);
  return content;
}

// A directory of the box's own root, which the guest finds at the same place.
void add_tree(Archive& archive, const std::string& path) {
  std::string parent = "guest";
  for (std::size_t at = 0; at != std::string::npos; at = path.find('/', at + 1))
    archive.add_directory(parent + path.substr(0, at));
  archive.add_directory(parent + path);
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) die(path.c_str());
  while (const dirent* entry = ::readdir(directory)) {
    const std::string below = path + "/" + entry->d_name;
    if (entry->d_name[0] == '.') continue;
    struct stat status {};
    if (::lstat(below.c_str(), &status) < 0) die(below.c_str());
    if (S_ISDIR(status.st_mode)) add_tree(archive, below);
    if (S_ISREG(status.st_mode)) archive.add(parent + below, S_IFREG | 0644, content_of(below));
  }
  (void)::closedir(directory);
}

struct Request {
  std::string memory = "256";
  std::string limits;   // "name=value" each, ended by NUL
  std::string command;  // as casemate-vm-init reads it
};

Request read_request(int argc, char** argv) {
  Request request;
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    const std::string_view entry = argv[at];
    if (entry.starts_with("memory="))
      request.memory = entry.substr(7);
    else
      request.limits += std::string(entry) + '\0';
  }
  for (++at; at < argc; ++at) request.command += std::string(argv[at]) + '\0';
  request.command += '\0';
  for (char** entry = environ; *entry != nullptr; ++entry) request.command += std::string(*entry) + '\0';
  request.command += '\0' + request.limits;
  return request;
}

int make_initramfs(const Request& request) {
  Archive archive;
  archive.add_directory("dev");
  archive.add_directory("modules");
  archive.add("init", S_IFREG | 0755, content_of(kInit));
  for (const char* name : {"virtio_ring", "virtio", "virtio_mmio", "virtio_console", "virtio_blk", "squashfs", "overlay"})
    archive.add(std::string("modules/") + name + ".ko", S_IFREG | 0644,
                content_of(std::string(kModules) + "/" + name + ".ko"));
  add_tree(archive, kRunner);
  archive.add("command", S_IFREG | 0644, request.command);
  return archive.finish();
}

// The rate of the counter that a guest of software emulation sees: this machine's. Without it the guest's kernel
// has no source of time to calibrate it with.
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

// ---- QEMU

struct Machine {
  pid_t pid = -1;
  int control = -1, out = -1, err = -1, keeper = -1;  // our ends of its ports
};

std::vector<std::string> machine_arguments(const Request& request, int initramfs, int image,
                                           const std::array<int, 4>& ports) {
  std::vector<std::string> arguments = {
      kQemu, "-M", "microvm,acpi=on,rtc=on,isa-serial=off,pit=off,pic=off,x-option-roms=off", "-accel",
      "tcg,thread=multi,tb-size=32", "-cpu", "max,-la57", "-smp", "1", "-m", request.memory,
      // Nothing that was not asked for, no network, and no more rights than these.
      "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot", "-sandbox",
      "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny", "-bios",
      "/usr/share/qemu/qboot.rom", "-kernel", kKernel, "-initrd", "/proc/self/fd/" + std::to_string(initramfs),
      "-append",
      "panic=-1 reboot=t quiet loglevel=0 tsc=reliable cryptomgr.notests init_on_alloc=0 ipv6.disable=1 audit=0 "
      "tsc_early_khz=" +
          counter_khz(),
      "-add-fd", "fd=" + std::to_string(image) + ",set=1", "-blockdev",
      "driver=file,node-name=image,filename=/dev/fdset/1,read-only=on,locking=off", "-device",
      "virtio-blk-device,drive=image", "-device", "virtio-serial-device,max_ports=8"};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string name = "port" + std::to_string(i + 1);
    arguments.insert(arguments.end(),
                     {"-chardev", "socket,id=" + name + ",fd=" + std::to_string(ports.at(i)), "-device",
                      "virtserialport,chardev=" + name + ",nr=" + std::to_string(i + 1)});
  }
  return arguments;
}

Machine start_machine(const Request& request, int image) {
  Machine machine;
  std::array<int*, 4> ours = {&machine.control, &machine.out, &machine.err, &machine.keeper};
  std::array<int, 4> theirs{};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) die("socketpair");
    *ours.at(i) = pair[0];
    (void)::fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    (void)::fcntl(pair[0], F_SETFL, O_NONBLOCK);
    theirs.at(i) = pair[1];
  }
  const int initramfs = make_initramfs(request);
  const std::vector<std::string> arguments = machine_arguments(request, initramfs, image, theirs);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  machine.pid = ::fork();
  if (machine.pid < 0) die("fork");
  if (machine.pid == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // What it says of itself is not the program's output.
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) (void)::dup2(nothing, fd);
    (void)::close(3);
    (void)::execve(kQemu, argv.data(), environment);
    ::_exit(kExitFailed);
  }
  for (const int fd : theirs) (void)::close(fd);
  (void)::close(initramfs);
  (void)::close(image);
  return machine;
}

// ---- Channels

// Bytes on their way from one descriptor to another.
struct Way {
  int from = -1, to = -1;
  std::uint64_t carried = 0;
  bool over = false;  // nothing comes any more, or nobody takes it
  std::size_t at = 0, size = 0;
  std::array<char, 1 << 16> bytes{};

  bool holds() const { return at < size; }
  pollfd item() const {
    if (over && !holds()) return {-1, 0, 0};
    return holds() ? pollfd{to, POLLOUT, 0} : pollfd{from, POLLIN, 0};
  }
  void carry() {
    if (!holds() && !over) {
      const ssize_t got = ::read(from, bytes.data(), bytes.size());
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) over = true;
      if (got <= 0) return;
      at = 0;
      size = static_cast<std::size_t>(got);
    }
    while (holds()) {
      const ssize_t put = ::write(to, bytes.data() + at, size - at);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno != EAGAIN) {
        over = true;
        at = size;
      }
      if (put <= 0) return;
      at += static_cast<std::size_t>(put);
      carried += static_cast<std::uint64_t>(put);
    }
  }
};

// What the guest's process 1 says, as it comes.
class KeeperLine {
 public:
  explicit KeeperLine(int fd) : fd_(fd) {}
  void tell(Keeper type) const {
    const KeeperHeader header{static_cast<std::uint32_t>(type), 0};
    (void)::send(fd_, &header, sizeof(header), MSG_NOSIGNAL);
  }
  // Reads what is there. False when the other end is gone or says what is no message.
  bool read() {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    bytes_.append(buffer.data(), static_cast<std::size_t>(got));
    return bytes_.size() <= sizeof(KeeperHeader) + kKeeperMax;
  }
  // The next whole message. Nothing: none yet.
  std::optional<std::pair<Keeper, std::string>> next() {
    KeeperHeader header;
    if (bytes_.size() < sizeof(header)) return std::nullopt;
    std::memcpy(&header, bytes_.data(), sizeof(header));
    if (header.length > kKeeperMax || bytes_.size() < sizeof(header) + header.length) return std::nullopt;
    std::string payload = bytes_.substr(sizeof(header), header.length);
    bytes_.erase(0, sizeof(header) + header.length);
    return std::pair(static_cast<Keeper>(header.type), std::move(payload));
  }

 private:
  int fd_;
  std::string bytes_;
};

std::int64_t now_ms() {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// Carries until the program has ended and all that it wrote has gone out. How it ended; nothing: the machine ended
// without a word.
std::optional<int> serve(const Machine& machine, int control) {
  (void)::fcntl(control, F_SETFL, O_NONBLOCK);
  static std::array<Way, 4> ways;
  const std::array<std::pair<int, int>, 4> ends = {std::pair{control, machine.control},
                                                   {machine.control, control},
                                                   {machine.out, STDOUT_FILENO},
                                                   {machine.err, STDERR_FILENO}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    ways.at(i).from = ends.at(i).first;
    ways.at(i).to = ends.at(i).second;
  }
  KeeperLine keeper(machine.keeper);
  std::optional<int> status;
  std::optional<KeeperTotals> totals;
  std::int64_t until = 0;
  for (;;) {
    std::array<pollfd, 5> items{};
    for (std::size_t i = 0; i < ways.size(); ++i) items.at(i) = ways.at(i).item();
    items[4] = {machine.keeper, POLLIN, 0};
    const int wait = status ? static_cast<int>(std::max<std::int64_t>(0, until - now_ms())) : -1;
    if (::poll(items.data(), items.size(), wait) < 0 && errno != EINTR) die("poll");
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (items.at(i).revents != 0) ways.at(i).carry();
    }
    if (items[4].revents != 0 && !keeper.read()) return status;
    while (const auto said = keeper.next()) {
      const std::string& payload = said->second;
      if (said->first == Keeper::kEnded && payload.size() == sizeof(std::uint32_t) && !status) {
        std::uint32_t given = 0;
        std::memcpy(&given, payload.data(), sizeof(given));
        status = static_cast<int>(given & 0xffff);
        until = now_ms() + kDrainMs;
        keeper.tell(Keeper::kTotals);
      } else if (said->first == Keeper::kTotals && payload.size() == sizeof(KeeperTotals)) {
        totals.emplace();
        std::memcpy(&*totals, payload.data(), sizeof(*totals));
      } else if (said->first == Keeper::kFailed) {
        std::fprintf(stderr, "casemate: the microvm's guest could not be made: %.200s\n", payload.c_str());
        return std::nullopt;
      }
    }
    if (!status) continue;
    // All that it wrote to its control port was there before process 1 could say that it ended.
    for (bool more = true; more;) {
      const std::uint64_t before = ways[1].carried;
      ways[1].carry();
      more = ways[1].carried != before;
    }
    const auto out = [&](const Way& way, std::uint64_t total) { return way.over || way.carried >= total; };
    const bool drained = totals && !ways[1].holds() && out(ways[2], totals->out) && out(ways[3], totals->err);
    if (drained || now_ms() >= until) return status;
  }
}

int launch(int argc, char** argv) {
  const Request request = read_request(argc, argv);
  constexpr int kControl = 3, kImage = 4;
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)::fcntl(kControl, F_SETFD, FD_CLOEXEC);
  const Machine machine = start_machine(request, kImage);
  const std::optional<int> status = serve(machine, kControl);
  (void)::kill(machine.pid, SIGKILL);
  (void)::waitpid(machine.pid, nullptr, 0);
  if (!status || (!WIFEXITED(*status) && !WIFSIGNALED(*status))) return kExitFailed;
  tell_end(kControl, *status);
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : kExitSignalled + WTERMSIG(*status);
}

}  // namespace
}  // namespace casemate::guest

int main(int argc, char** argv) { return casemate::guest::launch(argc, argv); }
