// The plan of one box: everything that the child needs after the clone, prepared by the warden as
// plain values, so that nothing is allocated, locked or looked up there. One flat value: a cold box inherits
// it with the clone, a slot is sent it as a message.
#pragma once

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "frame/warden.h"
#include "jail/stage.h"

namespace casemate::jail {

using frame::Wall;

struct SourceTree {
  std::array<char, 4096> path{};  // as the warden sees it; opened again in the new mount namespace
  dev_t device = 0;               // and then compared with these, so that a renamed path is noticed
  ino_t inode = 0;
};

// What a nest is built from; a slot finds it in its nest.
struct SourceTrees {
  SourceTree image;
  SourceTree guest;
};

inline constexpr std::size_t kArgumentsMax = 64;
inline constexpr std::size_t kEnvironmentMax = 64;

struct ResourceLimit {
  int resource = 0;
  rlim_t limit = 0;  // soft and hard alike
  Wall wall{};
};

// What the process that has the plan becomes.
enum class Role : std::uint32_t {
  kBox,   // the init of a box that is made whole at once, and its guest by execve
  kNest,  // the init of a nest: it starts a zygote and makes the inits of slots
  kSlot,  // the init of a slot in a nest; its guest is forked from the zygote
};

struct Plan {
  Role role = Role::kBox;
  // Descriptors in the warden, inherited by the clone; of a slot, those that came with the plan.
  int link = -1;                    // seqpacket, to the warden
  std::array<int, 8> task_files{};  // the `tasks` of its v1 groups, open for writing
  std::size_t task_file_count = 0;
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1, control_fd = -1;
  int zygote_fd = -1;  // of a nest: the zygote's own link to the warden
  std::array<int, frame::kRuntimeFilesMax> runtime_fds = {-1, -1, -1};  // of a stronger rung

  // A /dev of the box's own, of devices.h; -1: the host's devices are bound.
  int devices_fd = -1;

  std::array<char, 64> overlay_options{};
  std::array<char, 128> layer_options{};  // of the tmpfs at /vol
  std::array<char, 128> shm_options{};

  // Ids inside the nest. In single-id mode both are 0 and the second user-id wall is lost.
  uid_t slot_id = 1;
  std::array<char, 32> leaf_map{};  // "1000 <slot_id> 1", of user and group ids

  std::array<ResourceLimit, 16> resource_limits{};
  std::size_t resource_limit_count = 0;
  std::uint32_t affinity_first = 0;  // processors [first, first + count) modulo those that there are;
  std::uint32_t affinity_count = 0;  // 0: all
  std::uint32_t landlock_abi = 0;
  bool single_id = false;
  bool rehearse = false;  // of a slot: its guest does so before it parks

  // First the arguments, then the environment, each ended by NUL.
  std::array<char, frame::kStringsSize> strings{};
  std::uint32_t argument_count = 0;     // at most kArgumentsMax
  std::uint32_t environment_count = 0;  // at most kEnvironmentMax

  frame::Rung rung = frame::Rung::kJail;
  std::uint64_t walls_off = 0;  // looked at in test builds alone, see wall_on
  Stage fail_stage = Stage::kNone;
};

static_assert(std::is_trivially_copyable_v<Plan>);

#ifdef CASEMATE_TEST_HOOKS
inline bool wall_on(const Plan& plan, Wall wall) {
  return ((plan.walls_off | frame::walls_of_runtime(plan.rung)) & frame::wall_bit(wall)) == 0;
}
inline bool fails_here(const Plan& plan, Stage stage) { return plan.fail_stage == stage; }
inline constexpr bool kTestBuild = true;
#else
// In a release build a wall cannot be switched off and no step can be made to fail. A test reads the program
// for the absence of both.
constexpr bool wall_on(const Plan& plan, Wall wall) {
  return (frame::walls_of_runtime(plan.rung) & frame::wall_bit(wall)) == 0;
}
constexpr bool fails_here(const Plan&, Stage) { return false; }
inline constexpr bool kTestBuild = false;
#endif

// What a child tells the warden over a link. From a nest's init, its zygote, a box's or slot's init and,
// until it is parked, a slot's guest: all code of ours, before any code of a program's.
struct LinkMessage {
  enum class Kind : std::uint32_t {
    kSetupFailed = 1,    // stage, errno_value
    kLayer = 2,          // the layer's directory comes with it: the tree is whole
    kMainEnded = 3,      // wait_status, leftover
    kInitReady = 4,      // the init dropped its privilege and runs under its own filter
    kZygoteStarted = 5,  // the nest's init: pid of the zygote
    kZygoteReady = 6,    // the zygote: it has loaded what it was asked to
    kZygoteFailed = 7,   // the zygote: text says why
    kSlotMade = 8,       // the nest's init: token, pid; a pidfd comes with it
    kForked = 9,         // the zygote: token, pid; a pidfd comes with it; or errno_value
    kParked = 10,        // the guest: it waits for its program, on this processor
    kReaped = 11,        // the nest's init: pid, wait_status, minor_faults
  };
  Kind kind{};
  std::uint32_t stage = 0;
  std::int32_t errno_value = 0;
  std::int32_t wait_status = 0;
  std::uint32_t leftover = 0;  // processes of the tree outlived the program
  std::int32_t pid = 0;        // in the nest's pid namespace
  std::int32_t processor = -1;
  std::uint64_t token = 0;  // of the request that this answers
  std::uint64_t minor_faults = 0;
  std::array<char, 160> text{};
};

// What the warden asks for a slot: of the nest's init an init in namespaces of its own, then of the zygote
// a guest in them. Descriptors come with it, in this order.
struct SlotRequest {
  std::uint64_t token = 0;
  Plan plan;
  // To the nest's init:  link, stdout, stderr, the task files, and the devices if plan.devices_fd >= 0.
  // To the zygote:       pidfd of the init, link, stdin, stdout, stderr, control, the task files.
};
static_assert(std::is_trivially_copyable_v<SlotRequest>);

}  // namespace casemate::jail
