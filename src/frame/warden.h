// The warden's protocol: fixed binary structures, one per message, on a seqpacket socket between the
// engine and its warden. Each side checks size, magic and type before it looks at anything else;
// there is nothing of variable length but two bounded blocks of strings.
//
// A warden is started with its socket as descriptor 3 and the weakenings of its instance as
// arguments (--weaken single-id, --weaken no-cgroup). It says kHello first.
//
// The engine's side of a box:
//   kMakeBox + descriptors ──▶          ◀── kBoxStarted, or kBoxEnded
//   kEndBox  (a cause)     ──▶          ◀── kBoxEnded   (how it ended, what it used)
//   kOpenFile (a path)     ──▶          ◀── kFileOpened + a descriptor, or an errno
//   kDestroyBox            ──▶          ◀── kBoxGone    (the death record)
//
// Between kBoxEnded and kDestroyBox no process of the box lives; its layer can be read.
//
// A box of a nest (frame/nest.h) parks, and is started when its program has been sent:
//   kMakeBox of a nest     ──▶          ◀── kBoxParked, or kBoxEnded
//   kStartBox              ──▶          (its time runs)
//
// A guest with a kernel of its own parks as well, but no nest can fork it, and only the engine hears of it:
//   kMakeBox that parks    ──▶          (or ◀── kBoxEnded)
//   kParkBox (it waits)    ──▶          ◀── kBoxParked; then as above
//   kParkBox (once more)   ──▶          (another run follows in it; no time runs until it is started again)
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/result.h"
#include "frame/message.h"
#include "frame/walls.h"

namespace casemate::frame {

inline constexpr std::uint32_t kWardenMagic = 0x43534d31;  // "CSM1"
// A box's own arguments and environment; the program's cross on the control socket.
inline constexpr std::size_t kStringsSize = 4 << 10;
inline constexpr std::size_t kNameSize = 64;

enum class WardenType : std::uint32_t {
  kMakeBox = 1,
  kEndBox = 2,
  kOpenFile = 3,
  kDestroyBox = 4,
  kMakeNest = 5,
  kEndNest = 6,
  kStartBox = 7,
  kParkBox = 8,
  kFreezeBox = 9,
  kHello = 16,
  kBoxStarted = 17,
  kBoxEnded = 18,
  kFileOpened = 19,
  kBoxGone = 20,
  kNestReady = 21,
  kNestEnded = 22,
  kZygoteGone = 23,
  kBoxParked = 24,
  kBoxFrozen = 25,
};

enum class EndCause : std::uint32_t {
  kProgram = 1,  // it ended by itself
  kWall = 2,
  kCpuTime = 3,
  kMemory = 4,
  kOutput = 5,       // the engine asked
  kCancelled = 6,    // the engine asked
  kSetupFailed = 7,  // the box was never whole; stage and errno_value say where
  kLost = 8,         // the nest's init died without a word
  kPids = 9,         // a runtime met the limit of processes, and its guest ended with it
};

struct WardenHeader {
  std::uint32_t magic = kWardenMagic;
  WardenType type{};
  std::uint64_t box = 0;  // the engine's number for the box; echoed
};

// Descriptors with it, in this order: image root, guest tree (not of a box of a nest, which has its trees
// from there), stdin, stdout, stderr, control; then `runtime_files` that a stronger rung's runtime has as its
// descriptors from 4 on.
inline constexpr std::size_t kRuntimeFilesMax = 3;
struct MakeBox {
  WardenHeader header{kWardenMagic, WardenType::kMakeBox, 0};
  std::uint64_t nest = 0;  // 0: none, the box is made and started at once
  std::uint64_t memory_max_bytes = 0;
  std::uint64_t disk_max_bytes = 0;
  std::uint64_t disk_inodes_max = 0;
  std::uint64_t file_size_max_bytes = 0;
  std::uint64_t wall_max_ms = 0;
  std::uint64_t cpu_time_max_ms = 0;
  std::uint32_t cpus_milli = 0;  // 1000 is one processor
  std::uint32_t pids_max = 0;
  std::uint32_t open_files_max = 0;
  std::uint32_t argument_count = 0;     // strings: first the arguments,
  std::uint32_t environment_count = 0;  // then the environment, each ended by NUL
  std::uint32_t fail_stage = 0;         // test builds only: this stage fails
  std::uint32_t rehearse = 0;           // of a box in a nest: before it parks, the guest rehearses
  Rung rung = Rung::kJail;
  std::uint32_t parks = 0;  // without a nest: its time does not run before it was parked and started
  std::uint32_t runtime_files = 0;
  std::uint64_t walls_off = 0;  // test builds only
  std::array<char, kStringsSize> strings{};
};

// Its guest has said that it waits for its program. Of a box that does not park or has ended nothing comes of
// it. Of one that was parked: its run is over, what it uses from now on is the next one's, and nothing is
// said.
struct ParkBox {
  WardenHeader header{kWardenMagic, WardenType::kParkBox, 0};
};

// A parked box was sent its program some time ago. It may come late, or, for a short program, never: what
// holds from the first moment on is the timer of BoxParked.
struct StartBox {
  WardenHeader header{kWardenMagic, WardenType::kStartBox, 0};
  std::uint64_t wall_max_ms = 0;
  std::uint64_t cpu_time_max_ms = 0;
  std::uint64_t running_us = 0;  // for so long already
};

// Stops a box's processes, where the host can, and its clocks; or lets them go on. One that is not let go on
// within `wait_max_ms` is ended (kWall).
struct FreezeBox {
  WardenHeader header{kWardenMagic, WardenType::kFreezeBox, 0};
  std::uint32_t freeze = 0;
  std::uint32_t zero = 0;
  std::uint64_t wait_max_ms = 0;
};
struct BoxFrozen {
  WardenHeader header{kWardenMagic, WardenType::kBoxFrozen, 0};
  std::uint32_t frozen = 0;  // 0: this host cannot, and its program goes on
  std::uint32_t zero = 0;
};

struct EndBox {
  WardenHeader header{kWardenMagic, WardenType::kEndBox, 0};
  EndCause cause = EndCause::kCancelled;
  std::uint32_t zero = 0;
};

struct OpenFile {
  WardenHeader header{kWardenMagic, WardenType::kOpenFile, 0};
  std::array<char, 4096> path{};  // beneath the layer, ended by NUL
};

struct DestroyBox {
  WardenHeader header{kWardenMagic, WardenType::kDestroyBox, 0};
};

// First message of a warden: what this host gives, so that the engine can refuse early and well.
struct Hello {
  WardenHeader header{kWardenMagic, WardenType::kHello, 0};
  std::uint32_t ready = 0;  // 0: `text` says why not and what to do
  std::uint32_t instance = 0;
  std::uint32_t recovered_boxes = 0;
  std::uint32_t cgroup_kind = 0;  // 0 none, 1 v1, 2 v2, 3 hybrid
  std::uint32_t landlock_abi = 0;
  std::uint32_t test_build = 0;
  std::uint32_t wants_delegation = 0;  // not ready for want of a delegated control group
  std::uint32_t by_root = 0;
  std::array<char, 1024> text{};
};

struct BoxStarted {
  WardenHeader header{kWardenMagic, WardenType::kBoxStarted, 0};
  std::uint64_t walls_on = 0;
  std::uint64_t setup_us = 0;
  std::uint64_t outside_id = 0;  // the guest's user id on the host
};

struct BoxEnded {
  WardenHeader header{kWardenMagic, WardenType::kBoxEnded, 0};
  EndCause cause = EndCause::kLost;
  std::uint32_t has_status = 0;  // the program's own end is known
  std::uint32_t exit_code = 0;   // when signal is 0
  std::uint32_t signal = 0;
  std::uint32_t stage = 0;  // kSetupFailed: a jail::Stage
  std::uint32_t errno_value = 0;
  std::uint64_t wall_us = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t disk_peak_bytes = 0;
  std::uint64_t disk_free_bytes = 0;
  std::uint64_t inodes_free = 0;
  std::uint64_t oom_kills = 0;
  std::uint64_t pids_refused = 0;
  std::uint64_t pids_peak = 0;
  std::uint64_t minor_faults = 0;
  std::uint32_t leftover_processes = 0;  // of the program's tree, ended with it
  std::uint32_t zero = 0;
  std::array<char, 256> text{};  // kSetupFailed: the step in words and what went wrong, one line
};

// All walls are up, the guest has rehearsed if it was to, and waits for its program. Descriptors with it:
//  - a timer (timerfd, monotonic), which the engine sets to the run's wall limit before it sends the program:
//    when it expires the box ends, whatever has become of the engine, and no message need wake the warden
//    while a short program runs;
//  - for the engine to see for itself what the box used when its program is done: the layer's directory, and
//    one control file for each UsageFile that `usage_files` has a bit for, in that order.
inline constexpr std::size_t kUsageKeySize = 16;
inline constexpr std::size_t kUsageKeysSize = 80;  // of all UsageFiles
enum class UsageFile : std::uint32_t { kCpu, kMemoryPeak, kOomKills, kPidsRefused, kPidsPeak, kCount };
struct BoxParked {
  WardenHeader header{kWardenMagic, WardenType::kBoxParked, 0};
  std::uint64_t walls_on = 0;
  std::uint64_t setup_us = 0;
  std::uint64_t outside_id = 0;    // the guest's user id on the host
  std::uint64_t memory_bytes = 0;  // charged to it now
  std::uint64_t cpu_base_us = 0;   // used before now
  std::uint32_t usage_files = 0;   // bits: those that this host has
  std::uint32_t cpu_per_us = 1;    // the unit of kCpu: so many to a microsecond
  std::int32_t processor = -1;     // where the guest fell asleep: a hint
  std::uint32_t zero = 0;
  // Per UsageFile kUsageKeySize bytes, ended by NUL: what the number stands behind in its file; empty: the
  // file is the number.
  std::array<char, kUsageKeysSize> usage_keys{};
};

struct FileOpened {
  WardenHeader header{kWardenMagic, WardenType::kFileOpened, 0};
  std::uint32_t errno_value = 0;  // 0: the descriptor is with it
  std::uint32_t zero = 0;
};

// The death record. Each row that is 1 was shown, each that is 0 was not.
struct BoxGone {
  WardenHeader header{kWardenMagic, WardenType::kBoxGone, 0};
  std::uint32_t destroyed = 0;       // all rows below, else quarantined
  std::uint32_t init_reaped = 0;     // the pid namespace ended with it: no process is left
  std::uint32_t groups_empty = 0;    // no task in any of its groups
  std::uint32_t groups_removed = 0;  // every rmdir succeeded
  std::uint32_t layer_released = 0;  // our last reference to its tmpfs is closed
  std::uint32_t zero = 0;
  std::uint64_t teardown_us = 0;
};

// The type of a message, once its header is right. Errors: invalid.
inline Result<WardenType> warden_type(std::string_view message) {
  WardenHeader header;
  if (message.size() < sizeof(header)) return fail(ErrorCode::kInvalid, "a warden message is cut short");
  std::memcpy(&header, message.data(), sizeof(header));
  if (header.magic != kWardenMagic) return fail(ErrorCode::kInvalid, "a warden message has a wrong magic");
  return header.type;
}

}  // namespace casemate::frame
