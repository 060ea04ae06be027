// The part of the warden's protocol that is about nests: see frame/warden.h.
//
// A nest has a zygote, from which the guests of its boxes are forked ahead of time:
//   kMakeNest + descriptors ─▶          ◀── kNestReady, or kNestEnded
//   kEndNest               ──▶          ◀── kNestEnded  (its boxes end with it)
// A zygote that ends is told by kZygoteGone: its boxes live on, and no more can be made.
#pragma once

#include "frame/warden.h"

namespace casemate::frame {

// Descriptors with it: image root, guest tree. The strings are the zygote's.
struct MakeNest {
  WardenHeader header{kWardenMagic, WardenType::kMakeNest, 0};
  std::uint64_t memory_max_bytes = 0;  // of the zygote and what it keeps
  std::uint64_t ready_max_ms = 0;      // then it has failed
  std::uint64_t walls_off = 0;         // test builds only
  std::uint32_t argument_count = 0;
  std::uint32_t environment_count = 0;
  std::array<char, kStringsSize> strings{};
};

struct EndNest {
  WardenHeader header{kWardenMagic, WardenType::kEndNest, 0};
};

// The zygote has loaded what it was asked to, or the nest is not and will not be there.
struct NestReady {
  WardenHeader header{kWardenMagic, WardenType::kNestReady, 0};
  std::uint64_t setup_us = 0;
};
struct NestEnded {
  WardenHeader header{kWardenMagic, WardenType::kNestEnded, 0};
  std::uint32_t destroyed = 0;  // shown to be gone, as for a box
  std::uint32_t zero = 0;
  std::array<char, 256> text{};  // why, in one line; empty when it was asked for
};
struct ZygoteGone {
  WardenHeader header{kWardenMagic, WardenType::kZygoteGone, 0};
};

}  // namespace casemate::frame
