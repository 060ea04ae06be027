#include "box/usage.h"

#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace casemate::box {

using frame::UsageFile;

Result<UsageFiles> UsageFiles::from(const frame::BoxParked& parked, std::vector<sys::Fd> fds) {
  UsageFiles files;
  std::size_t next = 0;
  const auto take = [&](sys::Fd& to) {
    if (next >= fds.size()) return false;
    to = std::move(fds[next++]);
    return true;
  };
  bool right = take(files.layer_);
  for (std::size_t i = 0; i < files.files_.size(); ++i) {
    if ((parked.usage_files >> i & 1U) == 0) continue;
    right = right && take(files.files_.at(i).fd);
    const auto* key = parked.usage_keys.data() + i * frame::kUsageKeySize;
    std::copy_n(key, frame::kUsageKeySize - 1, files.files_.at(i).key.begin());
  }
  if (!right || next != fds.size()) return fail(ErrorCode::kInvalid, "a parked box without its descriptors");
  files.cpu_base_us_ = parked.cpu_base_us;
  files.cpu_per_us_ = std::max(parked.cpu_per_us, 1U);
  return files;
}

// One read: each of these files is far shorter than the buffer. cgroups(7).
std::uint64_t UsageFiles::number(UsageFile which) const {
  const File& file = files_.at(static_cast<std::size_t>(which));
  if (!file.fd) return 0;
  std::array<char, 1024> buffer{};
  const ssize_t got = ::pread(file.fd.get(), buffer.data(), buffer.size(), 0);
  std::string_view rest(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string_view key = file.key.data();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!key.empty()) {
      if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
      line.remove_prefix(key.size() + 1);
    }
    std::uint64_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
  }
  return 0;
}

void UsageFiles::read(frame::BoxEnded& ended) const {
  const std::uint64_t used_us = cpu_us();
  ended.cpu_us = used_us - std::min(used_us, cpu_base_us_);
  ended.memory_peak_bytes = number(UsageFile::kMemoryPeak);
  ended.oom_kills = number(UsageFile::kOomKills);
  ended.pids_refused = number(UsageFile::kPidsRefused);
  ended.pids_peak = number(UsageFile::kPidsPeak);
  struct statfs space {};
  if (layer_ && ::fstatfs(layer_.get(), &space) == 0) {
    const auto block = static_cast<std::uint64_t>(space.f_bsize);
    ended.disk_peak_bytes = (space.f_blocks - space.f_bfree) * block;
    ended.disk_free_bytes = space.f_bfree * block;
    ended.inodes_free = space.f_ffree;
  }
}

}  // namespace casemate::box
