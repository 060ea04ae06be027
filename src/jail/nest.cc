// Theory of operation: the nest's init.
//
// The warden clones this process into new user, mount, pid, network, IPC and host-name namespaces. It
// is PID 1 of the box. It moves into its control groups, so that nothing it does is uncharged; waits until
// the warden has written its id maps; builds the tree that the guest will see; pivots into it and lets go of
// the host's; hands the layer's directory out; forks the guest; and then drops every privilege that it had in
// its namespace, installs a filter that knows wait, report and exit, and reaps. When the program ends it says
// how and exits, and the kernel kills what is left of the tree: the end of a run is the end of its pid
// namespace. When the link to the warden closes (the warden was killed) it exits at once, with the same
// effect.
//
// In this cold form the nest serves one box. A nest with a zygote has the same first half; its init
// forks the zygote where this one forks the guest.
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "jail/child.h"
#include "jail/seccomp.h"

namespace casemate::jail {
namespace {

void send_link(int link, const LinkMessage& message, int fd = -1) {
  iovec part{const_cast<LinkMessage*>(&message), sizeof(message)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &fd, sizeof(int));
  }
  // A warden that is gone cannot be told; the closed link is noticed where it matters.
  while (::sendmsg(link, &header, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

// Runs one step: `action` answers 0 or an errno.
template <typename Action>
void step(const Plan& plan, Stage stage, Action action) {
  const int failed = fails_here(plan, stage) ? EIO : action();
  if (failed != 0) setup_failed(plan, stage, failed);
}

int errno_of(long result) { return result < 0 ? errno : 0; }

// The same step, left out when a test build has the wall off.
template <typename Action>
void step_if(const Plan& plan, Wall wall, Stage stage, Action action) {
  if (wall_on(plan, wall)) step(plan, stage, action);
}

constexpr unsigned long kQuiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;

unsigned long flags_if(const Plan& plan, unsigned long flags) {
  return wall_on(plan, Wall::kMountFlags) ? flags : 0;
}

int bind(const char* from, const char* to, unsigned long flags) {
  if (::mount(from, to, nullptr, MS_BIND | MS_REC, nullptr) < 0) return errno;
  if (flags == 0) return 0;
  return errno_of(::mount(nullptr, to, nullptr, MS_BIND | MS_REMOUNT | flags, nullptr));
}

// A directory of the host's tree where the new root is put together. Any will do that exists: it is
// covered in this mount namespace alone.
const char* staging_directory() {
  for (const char* path : {"/tmp", "/mnt", "/run", "/var"}) {
    if (::access(path, F_OK) == 0) return path;
  }
  return "/tmp";
}

// Waits for one word of the warden's.
void wait_for_warden(const Plan& plan, Stage stage) {
  step(plan, stage, [&] {
    char byte = 0;
    for (;;) {
      const ssize_t got = ::recv(plan.link, &byte, 1, 0);
      if (got == 1) return 0;
      if (got == 0) ::_exit(1);  // the warden is gone
      if (errno != EINTR) return errno;
    }
  });
}

// stops: what the warden has open, such as its engine's socket, its lock and the layers and groups of
// other boxes, from being held, and kept alive, by this process; and a killed warden from seeming alive
int close_inherited(const Plan& plan) {
  int kept[] = {plan.link,      plan.stdin_fd,   plan.stdout_fd,
                plan.stderr_fd, plan.control_fd, std::max(plan.devices_fd, plan.link)};
  std::sort(std::begin(kept), std::end(kept));
  unsigned next = 0;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next && ::syscall(SYS_close_range, next, number - 1, 0U) < 0) return errno;
    next = number + 1;
  }
  return errno_of(::syscall(SYS_close_range, next, ~0U, 0U));
}

struct Sources {
  int image = -1;
  int guest = -1;
};

int open_source(const SourceTree& tree, int& fd) {
  fd = ::open(tree.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  struct stat status {};
  if (::fstat(fd, &status) < 0) return errno;
  // stops: somebody who renames the image's directory between the engine's look and ours
  return status.st_dev == tree.device && status.st_ino == tree.inode ? 0 : ESTALE;
}

void move_tree(const Plan& plan, Stage stage, int from, const char* to) {
  step(plan, stage, [&] {
    const int tree = static_cast<int>(
        ::syscall(SYS_open_tree, from, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (tree < 0) return errno;
    const int failed = errno_of(::syscall(SYS_move_mount, tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH));
    (void)::close(tree);
    return failed;
  });
}

// The root: the guest tree and the image as one read-only overlay of the box's own.
void mount_root(const Plan& plan, const Sources& sources) {
  step(plan, Stage::kStage, [&] {
    const char* place = staging_directory();
    if (::mount("casemate", place, "tmpfs", kQuiet, "size=64k,nr_inodes=64,mode=0755") < 0) return errno;
    if (::chdir(place) < 0) return errno;
    for (const char* name : {"image", "guest", "root", "upper", "work"}) {
      if (::mkdir(name, 0755) < 0) return errno;
    }
    return 0;
  });
  move_tree(plan, Stage::kBindImage, sources.image, "image");
  move_tree(plan, Stage::kBindGuest, sources.guest, "guest");
  (void)::close(sources.image);  // the host's tree: what is mounted now does not need them
  (void)::close(sources.guest);
  step(plan, Stage::kMountRoot, [&] {
    if (!wall_on(plan, Wall::kImageOverlay)) {  // test builds: the image itself, shared with others
      const int failed = bind("image", "root",
                              flags_if(plan, MS_NOSUID | MS_NODEV) |
                                  (wall_on(plan, Wall::kImageReadOnly) ? unsigned{MS_RDONLY} : 0U));
      if (failed != 0) return failed;
      return bind("guest/usr/lib/casemate", "root/usr/lib/casemate", MS_RDONLY);
    }
    if (!wall_on(plan, Wall::kImageReadOnly)) {  // test builds: a writable root
      return errno_of(::mount("overlay", "root", "overlay", flags_if(plan, MS_NOSUID | MS_NODEV),
                              "lowerdir=guest:image,upperdir=upper,workdir=work,userxattr"));
    }
    // stops: writing the image; set-id files; device nodes; watching and locking other boxes through
    // inodes that they share (an overlay has inodes of its own); and, since the names are relative,
    // learning where the host keeps the image
    return errno_of(::mount("overlay", "root", "overlay", MS_RDONLY | flags_if(plan, MS_NOSUID | MS_NODEV),
                            plan.overlay_options.c_str()));
  });
}

void bind_device(const Plan& plan, const char* from, const char* to) {
  step(plan, Stage::kBindDevice, [&] {
    const int file = ::open(to, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0666);
    if (file < 0) return errno;
    (void)::close(file);
    // nodev cannot be set on the bind of a device that shall work; the others can. Read-only is said of
    // the node's times and owner: what is written to a device is no business of its mount.
    return bind(from, to, flags_if(plan, MS_NOSUID | MS_NOEXEC | MS_RDONLY));
  });
}

// stops: every device that is not one of five harmless ones; terminals; the host's /dev/shm; and, where
// the warden could make nodes, locking, watching and touching the host's own
void mount_dev(const Plan& plan) {
  const bool ready_made = plan.devices_fd >= 0;
  step(plan, Stage::kMountDev, [&] {
    if (ready_made) {
      const long moved =
          ::syscall(SYS_move_mount, plan.devices_fd, "", AT_FDCWD, "root/dev", MOVE_MOUNT_F_EMPTY_PATH);
      const int failed = errno_of(moved);
      (void)::close(plan.devices_fd);
      return failed;
    }
    if (!wall_on(plan, Wall::kMinimalDev)) return bind("/dev", "root/dev", 0);  // test builds
    return errno_of(
        ::mount("casemate", "root/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=64,mode=0755"));
  });
  if (wall_on(plan, Wall::kMinimalDev) && !ready_made) {
    bind_device(plan, "/dev/null", "root/dev/null");
    bind_device(plan, "/dev/zero", "root/dev/zero");
    bind_device(plan, "/dev/full", "root/dev/full");
    bind_device(plan, "/dev/random", "root/dev/random");
    bind_device(plan, "/dev/urandom", "root/dev/urandom");
    step(plan, Stage::kMountDev, [&] {
      if (::symlink("/proc/self/fd", "root/dev/fd") < 0) return errno;
      if (::symlink("/proc/self/fd/0", "root/dev/stdin") < 0) return errno;
      if (::symlink("/proc/self/fd/1", "root/dev/stdout") < 0) return errno;
      if (::symlink("/proc/self/fd/2", "root/dev/stderr") < 0) return errno;
      return errno_of(::mkdir("root/dev/shm", 0755));
    });
  }
  step(plan, Stage::kMountShm, [&] {
    return errno_of(
        ::mount("casemate", "root/dev/shm", "tmpfs", flags_if(plan, kQuiet), plan.shm_options.c_str()));
  });
}

int make_owned(const Plan& plan, const char* path, mode_t mode) {
  if (::mkdir(path, mode) < 0) return errno;
  if (::chmod(path, mode) < 0) return errno;
  return errno_of(::chown(path, plan.slot_id, plan.slot_id));
}

// stops: filling the host's disk or its inodes
void mount_layer(const Plan& plan) {
  step(plan, Stage::kMountLayer, [&] {
    return errno_of(::mount("casemate", "root/vol", "tmpfs", flags_if(plan, MS_NOSUID | MS_NODEV),
                            plan.layer_options.c_str()));
  });
  step(plan, Stage::kMakeLayer, [&] {
    for (const char* path : {"root/vol/work", "root/vol/work/out", "root/vol/home", "root/vol/run"}) {
      const int failed = make_owned(plan, path, 0755);
      if (failed != 0) return failed;
    }
    return make_owned(plan, "root/vol/tmp", 0755 | S_ISVTX | 022);
  });
  step(plan, Stage::kBindTmp,
       [&] { return bind("root/vol/tmp", "root/tmp", flags_if(plan, MS_NOSUID | MS_NODEV)); });
}

// stops: the host's processes, kernel settings and memory through /proc. subset=pid leaves only the
// box's own processes; hidepid=ptraceable hides its init. Linux 5.8.
void mount_proc(const Plan& plan) {
  step(plan, Stage::kMountProc, [&] {
    if (!wall_on(plan, Wall::kPidNs)) return bind("/proc", "root/proc", 0);  // test builds
    return errno_of(::mount("proc", "root/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                            wall_on(plan, Wall::kProcSubset) ? "subset=pid,hidepid=ptraceable" : nullptr));
  });
}

// stops: `..`, open directories and mounts of the host's tree
void enter_root(const Plan& plan) {
  step(plan, Stage::kPivotRoot, [&] {
    if (::chdir("root") < 0) return errno;
    // test builds: the host's tree stays at hand, where Landlock lets nothing be written
    if (!wall_on(plan, Wall::kPivotRoot)) (void)bind("/", "run", 0);
    return errno_of(::syscall(SYS_pivot_root, ".", "."));
  });
  step(plan, Stage::kDetachHost, [&] {
    // The old root lies over the new one now; "." is the new one.
    if (::umount2(".", MNT_DETACH) < 0) return errno;
    return errno_of(::chdir("/"));
  });
}

int bring_loopback_up() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int failed = errno_of(::ioctl(socket, SIOCSIFFLAGS, &request));
  (void)::close(socket);
  return failed;
}

int set_affinity(const Plan& plan) {
  cpu_set_t have;
  CPU_ZERO(&have);
  if (::sched_getaffinity(0, sizeof(have), &have) < 0) return errno;
  const auto total = static_cast<std::uint32_t>(CPU_COUNT(&have));
  if (plan.affinity_count == 0 || plan.affinity_count >= total) return 0;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  std::uint32_t index = 0;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &have)) continue;
    const std::uint32_t from_first = (index + total - plan.affinity_first % total) % total;
    if (from_first < plan.affinity_count) CPU_SET(cpu, &wanted);
    ++index;
  }
  return errno_of(::sched_setaffinity(0, sizeof(wanted), &wanted));
}

// A pipe belongs to who made it; /dev/stdout inside could not be opened otherwise. An ordinary user's
// pipes are ours to give because that user is root in this namespace; as root the warden gave them.
void own_pipes(const Plan& plan) {
  step(plan, Stage::kOwnPipes, [&] {
    for (const int fd : {plan.stdout_fd, plan.stderr_fd}) {
      struct stat status {};
      if (::fstat(fd, &status) < 0) return errno;
      if (status.st_uid == plan.slot_id || !S_ISFIFO(status.st_mode)) continue;
      if (::fchown(fd, plan.slot_id, plan.slot_id) < 0) return errno;
    }
    return 0;
  });
}

void hand_out_layer(const Plan& plan) {
  step(plan, Stage::kSendLayer, [&] {
    const int layer = ::open("/vol", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (layer < 0) return errno;
    LinkMessage message;
    message.kind = LinkMessage::Kind::kLayer;
    send_link(plan.link, message, layer);
    (void)::close(layer);
    return 0;
  });
}

// Without privilege from here on: wait, report, exit.
void drop_init(const Plan& plan, const Filters& filters) {
  step(plan, Stage::kInitDrop, [&] {
    // stops: descriptors that a flaw in this process could be made to use
    (void)::close(plan.stdin_fd);
    (void)::close(plan.stdout_fd);
    (void)::close(plan.stderr_fd);
    (void)::close(plan.control_fd);
    if (const int failed = drop_bounding_set(); failed != 0) return failed;
    if (const int failed = drop_all_capabilities(); failed != 0) return failed;
    return errno_of(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  });
  step(plan, Stage::kInitSeccomp, [&] {
    LinkMessage message;
    message.kind = LinkMessage::Kind::kInitReady;
    send_link(plan.link, message);
    return install(filters.init);
  });
}

// Reaps until the program is gone, tells how it ended, and exits: the kernel then ends the rest.
[[noreturn]] void reap(const Plan& plan, pid_t main_pid, int signals) {
  for (;;) {
    int status = 0;
    const pid_t pid = ::wait4(-1, &status, WNOHANG, nullptr);
    if (pid == main_pid) {
      LinkMessage message;
      message.kind = LinkMessage::Kind::kMainEnded;
      message.wait_status = status;
      // EPERM: somebody is there, whom this process may not signal. ESRCH: nobody.
      message.leftover = ::kill(-1, 0) == 0 || errno == EPERM ? 1 : 0;
      send_link(plan.link, message);
#ifdef CASEMATE_TEST_HOOKS
      if (!wall_on(plan, Wall::kKillTree)) {  // the mistake of waiting for the whole tree
        while (::wait4(-1, &status, 0, nullptr) > 0 || errno == EINTR) {
        }
      }
#endif
      ::_exit(0);
    }
    if (pid > 0) continue;
    pollfd items[2] = {{signals, POLLIN, 0}, {plan.link, POLLIN, 0}};
    if (::poll(items, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (items[1].revents != 0) ::_exit(1);  // the warden says nothing more: its end has closed
    if (items[0].revents != 0) {
      signalfd_siginfo drained[8];
      (void)::read(signals, drained, sizeof(drained));  // only that it came matters
    }
  }
}

}  // namespace

void setup_failed(const Plan& plan, Stage stage, int errno_value) {
  LinkMessage message;
  message.kind = LinkMessage::Kind::kSetupFailed;
  message.stage = static_cast<std::uint32_t>(stage);
  message.errno_value = errno_value;
  send_link(plan.link, message);
  ::_exit(1);
}

void run_nest_init(const Plan& plan, const Filters& filters) {
  // Before anything else, and by itself: see BoxGroups::open_task_files.
  step(plan, Stage::kAttach, [&] {
    for (std::size_t i = 0; i < plan.task_file_count; ++i) {
      if (::write(plan.task_files[i], "0", 1) < 0) return errno;
      (void)::close(plan.task_files[i]);
    }
    return 0;
  });
  step_if(plan, Wall::kCloseFds, Stage::kCloseInherited, [&] { return close_inherited(plan); });
#ifdef CASEMATE_TEST_HOOKS
  // The mistake of CVE-2024-21626, made in every test build: what kCloseFds has to close.
  if (const int host = ::open("/", O_RDONLY | O_DIRECTORY); host >= 0) (void)::fcntl(host, F_DUPFD, 200);
#endif
  wait_for_warden(plan, Stage::kMapped);
  // After the move, so that the box's own group is what /proc/self/cgroup calls "/".
  step_if(plan, Wall::kCgroupNs, Stage::kNewCgroupNs, [] { return errno_of(::unshare(CLONE_NEWCGROUP)); });
  // stops: mounts made here from showing outside, and the reverse
  step(plan, Stage::kPrivateMounts,
       [] { return errno_of(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr)); });
  Sources sources;
  step(plan, Stage::kOpenSources, [&] {
    const int failed = open_source(plan.image, sources.image);
    return failed != 0 ? failed : open_source(plan.guest, sources.guest);
  });
  step(plan, Stage::kBecomeNestRoot, [&] {
    // In single-id mode setgroups is denied and there is only one id to be.
    if (!plan.single_id && ::setgroups(0, nullptr) < 0) return errno;
    if (::setresgid(0, 0, 0) < 0) return errno;
    if (::setresuid(0, 0, 0) < 0) return errno;
    (void)::umask(022);
    return 0;
  });
  // stops: user namespaces below the guest's own, the door to most kernel surface. Counted per user
  // and level, so 1 leaves room for the leaf alone. user_namespaces(7), /proc/sys/user.
  step_if(plan, Wall::kUserNsLimit, Stage::kLimitUserNs, [] {
    const int file = ::open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (file < 0) return errno;
    const int failed = errno_of(::write(file, "1", 1));
    (void)::close(file);
    return failed;
  });
  mount_root(plan, sources);
  mount_dev(plan);
  mount_layer(plan);
  mount_proc(plan);
  step_if(plan, Wall::kMinimalDev, Stage::kSealDev, [&] {
    return errno_of(::mount(nullptr, "root/dev", nullptr,
                            MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, nullptr));
  });
  enter_root(plan);
  step_if(plan, Wall::kUtsNs, Stage::kHostName, [] { return errno_of(::sethostname("box", 3)); });
  step_if(plan, Wall::kNetNs, Stage::kLoopback, [] { return bring_loopback_up(); });
  step_if(plan, Wall::kCpuShare, Stage::kAffinity, [&] { return set_affinity(plan); });
  own_pipes(plan);
  hand_out_layer(plan);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int signals = -1;
  step(plan, Stage::kFork, [&] {
    if (::sigprocmask(SIG_BLOCK, &child, nullptr) < 0) return errno;
    signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    return errno_of(signals);
  });
  const pid_t main_pid = ::fork();
  if (main_pid < 0) setup_failed(plan, Stage::kFork, errno);
  if (main_pid == 0) {
    (void)::close(signals);
    (void)::sigprocmask(SIG_UNBLOCK, &child, nullptr);
    become_guest(plan, filters);
  }
  drop_init(plan, filters);
  reap(plan, main_pid, signals);
}

}  // namespace casemate::jail
