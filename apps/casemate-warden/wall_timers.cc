#include "wall_timers.h"

#include <sys/epoll.h>

#include <array>

namespace casemate {

Result<void> WallTimers::watch(std::uint64_t box, const sys::Fd& timer) {
  if (!epoll_) epoll_ = sys::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail_errno("epoll_create1");
  epoll_event wanted{EPOLLIN | EPOLLET, {.u64 = box}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer.get(), &wanted) < 0) return fail_errno("epoll_ctl");
  return {};
}

std::vector<std::uint64_t> WallTimers::expired() {
  std::array<epoll_event, 16> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  std::vector<std::uint64_t> boxes;
  for (int i = 0; i < count; ++i) boxes.push_back(events.at(static_cast<std::size_t>(i)).data.u64);
  return boxes;
}

}  // namespace casemate
