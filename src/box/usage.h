// What a slot's box uses, read by the engine itself: no other process has to run between a program's last
// word and its answer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "frame/warden.h"
#include "sys/fd.h"

namespace casemate::box {

class UsageFiles {
 public:
  // Errors: invalid (not the descriptors that the message announces).
  static Result<UsageFiles> from(const frame::BoxParked& parked, std::vector<sys::Fd> fds);
  UsageFiles() = default;

  // What was used until now is not in what read() tells.
  void begin() { cpu_base_us_ = cpu_us(); }
  // Fills what was used since the box was parked, or begin(); what this host does not tell stays 0.
  void read(frame::BoxEnded& ended) const;

 private:
  struct File {
    sys::Fd fd;
    std::array<char, frame::kUsageKeySize> key{};  // ended by NUL
  };
  std::uint64_t number(frame::UsageFile which) const;
  std::uint64_t cpu_us() const { return number(frame::UsageFile::kCpu) / cpu_per_us_; }

  sys::Fd layer_;
  std::array<File, static_cast<std::size_t>(frame::UsageFile::kCount)> files_;
  std::uint64_t cpu_base_us_ = 0;
  std::uint32_t cpu_per_us_ = 1;
};

}  // namespace casemate::box
