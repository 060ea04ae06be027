// What casemate-microvm and casemate-vm-init say to each other over a port of their own, the keeper's.
//
// A message is a KeeperHeader and `length` bytes. Both ends are ours, and neither believes the other further than
// this: a guest that has broken its kernel is the other end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace casemate::guest {

enum class Keeper : std::uint32_t {
  // Launcher to init.
  kEntropy = 1,  // bytes for the kernel's pool, which is then made to use them. Answered by kDone
  kClock = 2,    // KeeperClock: the time of day. Answered by kDone
  kTotals = 3,   // asks for kTotals
  kFile = 4,     // a path below /work: asks for kFile

  // Init to launcher.
  kReady = 16,   // nothing: the program was started
  kDone = 17,    // an errno, u32; 0: it is done
  kEnded = 18,   // u32: how the program's process ended, as waitpid(2) says it
  kFailed = 19,  // one line: the guest could not be made
};

struct KeeperHeader {
  std::uint32_t type = 0;
  std::uint32_t length = 0;
};
struct KeeperClock {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};
// What the program has written to its two streams until now, read or not.
struct KeeperTotals {
  std::uint64_t out = 0, err = 0;
};

inline constexpr std::size_t kKeeperMax = std::size_t{64} << 10;

// The ports by their numbers on the virtio serial device.
enum Port : int { kPortControl = 1, kPortOut = 2, kPortErr = 3, kPortKeeper = 4 };

}  // namespace casemate::guest
