// What casemate-microvm and casemate-vm-init say to each other over the one port of the guest.
//
// A message is a MessageHeader and `length` bytes. One port for all, so that there is one order: what a
// program printed before its runner said that it is done comes before that word. Both ends are ours, and yet
// neither believes the other further than this: a guest that has broken its kernel is the other end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace casemate::guest {

enum class Message : std::uint32_t {
  // Both ways.
  kControl = 1,  // bytes of the runner's control socket (frame/guest.h)

  // Launcher to init.
  kControlEnd = 2,  // no more of them
  kEntropy = 3,     // bytes for the kernel's pool, which is then made to use them. Answered by kDone
  kClock = 4,       // ClockTime: the time of day
  kFile = 5,        // a path below the layer, after kEnded. Answered by kFileKind, kFileData*, kFileEnd
  kTemplate = 6,    // Nonce: this machine is about to be saved under that name. Answered by kDone
  kFresh = 7,       // Restored: the first thing that a restored machine hears. Answered by kDone

  // Init to launcher.
  kReady = 16,     // the program was started
  kDone = 17,      // an errno, u32; 0: it is done
  kOut = 18,       // bytes that the program printed
  kErr = 19,       // likewise
  kEnded = 20,     // GuestEnded: the program and all that it left have ended
  kFailed = 21,    // one line: the guest could not be made
  kFileKind = 22,  // FileKind
  kFileData = 23,  // u64: where; then bytes that are not a hole
  kFileEnd = 24,   // an errno, u32
};

using Nonce = std::array<unsigned char, 16>;

struct MessageHeader {
  std::uint32_t type = 0;
  std::uint32_t length = 0;
};
// A machine is restored from its template and from nothing else, once, and with an empty layer: process 1
// refuses all else (ESTALE, EALREADY, ENOTEMPTY).
struct Restored {
  Nonce from{};  // the template's name
  Nonce run{};   // this machine's own, which it gives back in GuestEnded
};
struct ClockTime {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};
// What the guest's kernel says of the program.
struct GuestEnded {
  std::uint32_t status = 0;  // as waitpid(2) says it
  std::uint32_t zero = 0;
  std::uint64_t oom_kills = 0;
  std::uint64_t memory_peak = 0;  // bytes
  std::uint64_t pids_refused = 0;
  std::uint64_t pids_peak = 0;
  std::uint64_t disk_used = 0;  // bytes of the layer
  std::uint64_t disk_free = 0;
  std::uint64_t inodes_free = 0;
  Nonce run{};  // of a restored machine
};
struct FileKind {
  std::uint32_t mode = 0;  // st_mode
  std::uint32_t links = 0;
  std::uint64_t size = 0;
};

inline constexpr std::size_t kMessageMax = std::size_t{64} << 10;
inline constexpr int kPortNumber = 1;
inline constexpr unsigned kGuestId = 1000;

}  // namespace casemate::guest
