// The walls and limits of the jail rung, as bits. Off only by a weakening or in a test build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace casemate::frame {

// name, what it is
#define CASEMATE_WALLS(X)                                                                       \
  X(NestIds, "the nest's own range of outside user ids")                                        \
  X(SlotId, "the guest's user id differs from the nest's")                                      \
  X(LeafUserNs, "a user namespace of the guest's own, without rights over the rest")            \
  X(UserNsLimit, "no further user namespaces")                                                  \
  X(PidNs, "sees and signals only its own processes")                                           \
  X(NetNs, "no route anywhere")                                                                 \
  X(IpcNs, "System V and POSIX queues of its own")                                              \
  X(UtsNs, "a host name of its own")                                                            \
  X(CgroupNs, "does not see where its groups hang")                                             \
  X(PivotRoot, "the host's tree is unmounted")                                                  \
  X(ImageReadOnly, "the image cannot be written")                                               \
  X(ImageOverlay, "its own inodes over the image: no watching or locking of others through it") \
  X(MountFlags, "nosuid, nodev on every mount")                                                 \
  X(MinimalDev, "five devices")                                                                 \
  X(ProcSubset, "/proc shows the box's own processes and nothing else")                         \
  X(Capabilities, "none, in all five sets, locked")                                             \
  X(NoNewPrivs, "set-id programs give nothing")                                                 \
  X(Landlock, "file access again, decided elsewhere in the kernel")                             \
  X(Seccomp, "the system-call table")                                                           \
  X(CloseFds, "nothing inherited")                                                              \
  X(Environment, "nothing inherited")                                                           \
  X(NewSession, "no controlling terminal")                                                      \
  X(CoreLimit, "no core dump, no piped handler")                                                \
  X(FileSizeLimit, "")                                                                          \
  X(OpenFilesLimit, "")                                                                         \
  X(LockedMemoryLimit, "")                                                                      \
  X(MessageQueueLimit, "")                                                                      \
  X(SignalQueueLimit, "")                                                                       \
  X(PriorityLimit, "")                                                                          \
  X(StackLimit, "")                                                                             \
  X(MemoryLimit, "")                                                                            \
  X(PidsLimit, "")                                                                              \
  X(CpuShare, "")                                                                               \
  X(CpuTime, "")                                                                                \
  X(DiskLimit, "")                                                                              \
  X(InodeLimit, "")                                                                             \
  X(WallClock, "")                                                                              \
  X(KillTree, "the end of the program is the end of its whole tree")                            \
  X(OutputLimit, "the engine's")                                                                \
  X(OwnDevices, "its own inodes for the five devices: no watching or locking of others through them")

enum class Wall : std::uint32_t {
#define X(name, what) k##name,
  CASEMATE_WALLS(X)
#undef X
      kCount,
};

inline constexpr std::uint64_t wall_bit(Wall wall) { return std::uint64_t{1} << static_cast<unsigned>(wall); }

// What stands between a program and the host's kernel. On the stronger rungs the box is the same jail, whose
// program is a runtime that the guest's program runs in.
enum class Rung : std::uint32_t {
  kJail = 0,
  kGvisor = 1,   // runsc: a kernel in user space
  kMicrovm = 2,  // QEMU: a kernel of its own on a machine of its own
};

// The walls around a rung's runtime that it could not stand: they are its own to put up, for its guest. QEMU
// stands them all; of runsc they are
//   Landlock       lets nobody mount, which it does there
//   ProcSubset     it reads /proc/cpuinfo and /proc/sys/vm when it starts; its guest has a /proc of its own
//   FileSizeLimit  its guest's memory is one large file; the limit on files is its guest's own
constexpr std::uint64_t walls_of_runtime(Rung rung) {
  if (rung != Rung::kGvisor) return 0;
  return wall_bit(Wall::kLandlock) | wall_bit(Wall::kProcSubset) | wall_bit(Wall::kFileSizeLimit);
}

// "MemoryLimit".
constexpr const char* wall_name(Wall wall) {
  constexpr std::array<const char*, static_cast<std::size_t>(Wall::kCount)> kNames = {
#define X(name, what) #name,
      CASEMATE_WALLS(X)
#undef X
  };
  return kNames.at(static_cast<std::size_t>(wall));
}

// What it is, in words; empty where the name says it.
constexpr const char* wall_text(Wall wall) {
  constexpr std::array<const char*, static_cast<std::size_t>(Wall::kCount)> kTexts = {
#define X(name, what) what,
      CASEMATE_WALLS(X)
#undef X
  };
  return kTexts.at(static_cast<std::size_t>(wall));
}

}  // namespace casemate::frame
