#include "microvm/guest_tree.h"

#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "microvm/channel.h"

namespace casemate::guest {
namespace {

constexpr const char* kImage = "/image";
constexpr int kImageTries = 2000;  // of a millisecond

void mount_at(const char* type, const char* source, const std::string& at, unsigned long flags,
              const std::string& options) {
  need(::mount(source, at.c_str(), type, flags, options.c_str()) == 0, at.c_str());
}

void make_device(const char* name, unsigned minor) {
  const std::string path = std::string(kRoot) + "/dev/" + name;
  need(::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(1, minor)) == 0 && ::chmod(path.c_str(), 0666) == 0,
       path.c_str());
}

void make_link(const char* target, const char* name) {
  need(::symlink(target, (std::string(kRoot) + "/dev/" + name).c_str()) == 0, name);
}

void make_directory(const std::string& path, mode_t mode, unsigned owner) {
  need(::mkdir(path.c_str(), mode) == 0 || errno == EEXIST, path.c_str());
  need(::chown(path.c_str(), owner, owner) == 0 && ::chmod(path.c_str(), mode) == 0, path.c_str());
}

// A network of the machine's own, which leads nowhere.
void raise_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  need(socket >= 0 && ::ioctl(socket, SIOCSIFFLAGS, &request) == 0, "raise lo");
  (void)::close(socket);
}

void set_limit(__rlimit_resource which, rlim_t value) {
  const rlimit limit{value, value};
  need(::setrlimit(which, &limit) == 0, "setrlimit");
}

void take_limit(GuestLimits& limits, std::string_view name, const std::string& value) {
  if (name == "memory") limits.memory = value;
  if (name == "processes") limits.processes = value;
  if (name == "disk") limits.disk = value;
  if (name == "inodes") limits.inodes = value;
  if (name == "file_size") limits.file_size = std::strtoull(value.c_str(), nullptr, 10);
  if (name == "open_files") limits.open_files = std::strtoull(value.c_str(), nullptr, 10);
}

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  need(file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
       path.c_str());
  (void)::close(file);
}

unsigned long long number_in(const std::string& path, const std::string& key) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(file, buffer.data(), buffer.size() - 1);
  (void)::close(file);
  if (got <= 0) return 0;
  const char* at = buffer.data();
  if (!key.empty()) {
    // Of a line's beginning: "oom" must not be found in "no_oom".
    while (at != nullptr && std::strncmp(at, key.c_str(), key.size()) != 0) {
      at = std::strchr(at, '\n');
      if (at != nullptr) ++at;
    }
    if (at == nullptr) return 0;
    at += key.size();
  }
  return std::strtoull(at, nullptr, 10);
}

void read_command(Command& command) {
  const int file = ::open("/command", O_RDONLY | O_CLOEXEC);
  need(file >= 0, "/command");
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;)
    command.bytes.append(buffer.data(), static_cast<std::size_t>(got));
  (void)::close(file);
  int part = 0;
  for (std::size_t at = 0; at < command.bytes.size();) {
    char* text = command.bytes.data() + at;
    const std::size_t size = ::strnlen(text, command.bytes.size() - at);
    at += size + 1;
    if (size == 0) {
      ++part;
    } else if (part == 0) {
      command.arguments.push_back(text);
    } else if (part == 1) {
      command.environment.push_back(text);
    } else {
      const std::string_view entry(text, size);
      const std::size_t equals = entry.find('=');
      need(equals != std::string_view::npos, "/command");
      take_limit(command.limits, entry.substr(0, equals), std::string(entry.substr(equals + 1)));
    }
  }
  need(!command.arguments.empty(), "no program");
  command.arguments.push_back(nullptr);
  command.environment.push_back(nullptr);
}

void load_modules() {
  // In the order in which they need each other.
  for (const char* name :
       {"virtio_ring", "virtio", "virtio_mmio", "virtio_console", "virtio_blk", "squashfs", "overlay"}) {
    const std::string path = std::string("/modules/") + name + ".ko";
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;  // built in
    need(::syscall(SYS_finit_module, file, "", 0) == 0 || errno == EEXIST, name);
    (void)::close(file);
  }
}

// One tmpfs for the layer, as a box's, and one for what programs share.
void make_tree(const GuestLimits& limits) {
  const std::string root = kRoot;
  int tries = 0;  // the disk appears a little after its driver
  while (::mount("/dev/vda", kImage, "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) < 0) {
    need(++tries < kImageTries, "mount the image");
    (void)::usleep(1000);
  }
  mount_at("overlay", "root", root, MS_RDONLY | MS_NOSUID | MS_NODEV,
           std::string("lowerdir=/guest:") + kImage);
  mount_at("tmpfs", "dev", root + "/dev", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k,nr_inodes=64");
  for (const auto& [name, minor] :
       {std::pair{"null", 3U}, {"zero", 5U}, {"full", 7U}, {"random", 8U}, {"urandom", 9U}})
    make_device(name, minor);
  make_link("/proc/self/fd", "fd");
  make_link("/proc/self/fd/0", "stdin");
  make_link("/proc/self/fd/1", "stdout");
  make_link("/proc/self/fd/2", "stderr");
  mount_at("tmpfs", "layer", root + "/vol", MS_NOSUID | MS_NODEV,
           "mode=755,size=" + limits.disk + ",nr_inodes=" + limits.inodes);
  for (const char* name : {"/vol/work", "/vol/home", "/vol/run"}) make_directory(root + name, 0755, kGuestId);
  make_directory(root + "/vol/work/out", 0755, kGuestId);
  make_directory(root + "/vol/tmp", 01777, 0);
  make_directory(root + "/dev/shm", 0755, 0);
  mount_at(nullptr, (root + "/vol/tmp").c_str(), root + "/tmp", MS_BIND, "");
  const std::string owner = std::to_string(kGuestId);
  mount_at(
      "tmpfs", "shared", root + "/dev/shm", MS_NOSUID | MS_NODEV | MS_NOEXEC,
      "mode=755,uid=" + owner + ",gid=" + owner + ",size=" + limits.disk + ",nr_inodes=" + limits.inodes);
  need(::mount(nullptr, (root + "/dev").c_str(), nullptr,
               MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, nullptr) == 0,
       "protect /dev");
  mount_at("proc", "proc", root + "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=ptraceable");
  need(::sethostname("box", 3) == 0, "sethostname");
  raise_loopback();
  write_text("/proc/sys/user/max_user_namespaces", "0");
  // As hosts with swap: memory is refused when it is used and not when it is asked for.
  write_text("/proc/sys/vm/overcommit_memory", "1");
}

void make_group(const GuestLimits& limits) {
  mount_at("cgroup2", "group", "/group", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
  write_text("/group/cgroup.subtree_control", "+memory +pids");
  const std::string group = kProgramGroup;
  need(::mkdir(group.c_str(), 0755) == 0, group.c_str());
  write_text(group + "/memory.max", limits.memory);
  write_text(group + "/pids.max", limits.processes);
}

void enter_tree(const GuestLimits& limits) {
  write_text(std::string(kProgramGroup) + "/cgroup.procs", "0");
  need(::chroot(kRoot) == 0 && ::chdir("/vol/work") == 0, "chroot");
  set_limit(RLIMIT_CORE, 1);
  set_limit(RLIMIT_FSIZE, limits.file_size);
  set_limit(RLIMIT_NOFILE, limits.open_files);
  set_limit(RLIMIT_MEMLOCK, 64 << 10);
  set_limit(RLIMIT_MSGQUEUE, 0);
  set_limit(RLIMIT_SIGPENDING, 256);
  set_limit(RLIMIT_NICE, 0);
  set_limit(RLIMIT_RTPRIO, 0);
  set_limit(RLIMIT_STACK, 8 << 20);
  for (unsigned capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    need(::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0, "give up capabilities");
  need(::setgroups(0, nullptr) == 0 && ::setresgid(kGuestId, kGuestId, kGuestId) == 0 &&
           ::setresuid(kGuestId, kGuestId, kGuestId) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
       "become the program's user");
}

}  // namespace casemate::guest
