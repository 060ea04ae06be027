// What a guest can set of processes that are not its own: gVisor lets anybody change the processors and the
// priority of any process. The zygote hands both on to the guests after it, and process 1 shows them.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cerrno>

namespace casemate::guest {

class Schedules {
 public:
  // Of the caller and of process 1, as they are now. On false errno says why not.
  bool read() {
    for (One& one : all_) {
      if (::sched_getaffinity(one.pid, sizeof(one.processors), &one.processors) < 0) return false;
      errno = 0;
      one.priority = ::getpriority(PRIO_PROCESS, static_cast<id_t>(one.pid));
      if (errno != 0) return false;
    }
    return true;
  }

  // Makes them so again, and looks. On false errno says why not.
  bool restore() const {
    for (const One& one : all_) {
      if (::sched_setaffinity(one.pid, sizeof(one.processors), &one.processors) < 0) return false;
      if (::setpriority(PRIO_PROCESS, static_cast<id_t>(one.pid), one.priority) < 0) return false;
    }
    Schedules found;
    if (!found.read()) return false;
    errno = EPERM;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const One &is = found.all_.at(i), &was = all_.at(i);
      if (CPU_EQUAL(&is.processors, &was.processors) == 0 || is.priority != was.priority) return false;
    }
    return true;
  }

 private:
  struct One {
    pid_t pid = 0;  // 0: the caller
    cpu_set_t processors{};
    int priority = 0;
  };
  std::array<One, 2> all_ = {{{0, {}, 0}, {1, {}, 0}}};
};

}  // namespace casemate::guest
