// See nest_tree.h; the order of a box's making is told in nest.cc.
#include "jail/nest_tree.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "jail/step.h"

namespace casemate::jail {
namespace {

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

int open_source(const SourceTree& tree, int& fd) {
  fd = ::open(tree.path.data(), O_PATH | O_DIRECTORY | O_CLOEXEC);
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

// Where roots are put together: the image and the guest tree, side by side.
void mount_staging(const Plan& plan, const Sources& sources) {
  step(plan, Stage::kStage, [&] {
    const char* place = staging_directory();
    if (::mount("casemate", place, "tmpfs", kQuiet, "size=64k,nr_inodes=64,mode=0755") < 0) return errno;
    if (::chdir(place) < 0) return errno;
    for (const char* name : {"image", "guest", "dev", "root", "upper", "work"}) {
      if (::mkdir(name, 0755) < 0) return errno;
    }
    // Where a nest without these walls keeps what its slots are to have then.
    if (kTestBuild && (::mkdir("run", 0755) < 0 || ::mkdir("proc", 0755) < 0)) return errno;
    return 0;
  });
  move_tree(plan, Stage::kBindImage, sources.image, "image");
  move_tree(plan, Stage::kBindGuest, sources.guest, "guest");
  (void)::close(sources.image);  // the host's tree: what is mounted now does not need them
  (void)::close(sources.guest);
}

// The root: the guest tree and the image as one read-only overlay of the box's own.
void mount_root(const Plan& plan) {
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
                            plan.overlay_options.data()));
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
    if (plan.role == Role::kSlot) return bind("dev", "root/dev", 0);            // the nest's
    if (!wall_on(plan, Wall::kMinimalDev)) return bind("/dev", "root/dev", 0);  // test builds
    return errno_of(
        ::mount("casemate", "root/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=64,mode=0755"));
  });
  if (wall_on(plan, Wall::kMinimalDev) && !ready_made && plan.role != Role::kSlot) {
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
  if (plan.role == Role::kNest) step(plan, Stage::kMountDev, [&] { return bind("root/dev", "dev", 0); });
  step(plan, Stage::kMountShm, [&] {
    return errno_of(
        ::mount("casemate", "root/dev/shm", "tmpfs", flags_if(plan, kQuiet), plan.shm_options.data()));
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
                            plan.layer_options.data()));
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
    if (!wall_on(plan, Wall::kPidNs)) {  // test builds
      const int failed = bind("/proc", "root/proc", 0);
      return failed != 0 || plan.role != Role::kNest ? failed : bind("/proc", "proc", 0);
    }
    return errno_of(::mount("proc", "root/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                            wall_on(plan, Wall::kProcSubset) ? "subset=pid,hidepid=ptraceable" : nullptr));
  });
}

// stops: `..`, open directories and mounts of the host's tree
void enter_root(const Plan& plan, const char* root) {
  step(plan, Stage::kPivotRoot, [&] {
    if (::chdir(root) < 0) return errno;
    // test builds: the host's tree stays at hand, where Landlock lets nothing be written
    if (!wall_on(plan, Wall::kPivotRoot)) (void)bind(plan.role == Role::kSlot ? "/run" : "/", "run", 0);
    return errno_of(::syscall(SYS_pivot_root, ".", "."));
  });
  step(plan, Stage::kDetachHost, [&] {
    // The old root lies over the new one now; "." is the new one.
    if (::umount2(".", MNT_DETACH) < 0) return errno;
    return errno_of(::chdir("/"));
  });
}

void fill_root(const Plan& plan) {
  mount_root(plan);
  mount_dev(plan);
  mount_layer(plan);
  mount_proc(plan);
  step_if(plan, Wall::kMinimalDev, Stage::kSealDev, [&] {
    return errno_of(::mount(nullptr, "root/dev", nullptr,
                            MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, nullptr));
  });
}

}  // namespace

int open_sources(const SourceTrees& trees, Sources& sources) {
  const int failed = open_source(trees.image, sources.image);
  return failed != 0 ? failed : open_source(trees.guest, sources.guest);
}

void build_tree(const Plan& plan, const Sources& sources) {
  mount_staging(plan, sources);
  fill_root(plan);
  enter_root(plan, "root");
}

void build_nest_tree(const Plan& plan, const Sources& sources) {
  mount_staging(plan, sources);
  fill_root(plan);
  enter_root(plan, ".");
}

void build_slot_tree(const Plan& plan) {
  // The zygote's root stays where it is, covered: the kernel gives a new /proc only to those who see one.
  step(plan, Stage::kStage, [] { return errno_of(::chdir("/")); });
  fill_root(plan);
  enter_root(plan, "root");
}

}  // namespace casemate::jail
