#include "bench/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sys/fd.h"

namespace casemate::bench {
namespace {

constexpr int kLookAgainMs = 50;
constexpr int kStillLooks = 6;  // in a row
constexpr double kStillKib = 512;

struct Process {
  int parent = 0;
  std::uint64_t faults = 0;
};

std::map<int, Process> all_processes() {
  std::map<int, Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir("/proc"), ::closedir);
  if (!listing) return found;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    const auto text = sys::read_file_at(AT_FDCWD, "/proc/" + name + "/stat", 4096);
    if (!text) continue;  // it has just ended
    const std::size_t behind_name = text->rfind(')');
    if (behind_name == std::string::npos) continue;
    Process process;
    unsigned long own = 0, of_children = 0;
    // state ppid pgrp session tty_nr tpgid flags minflt cminflt
    if (std::sscanf(text->c_str() + behind_name + 1, " %*c %d %*d %*d %*d %*d %*u %lu %lu", &process.parent,
                    &own, &of_children) == 3) {
      process.faults = own + of_children;
      found.emplace(pid, process);
    }
  }
  return found;
}

Result<double> available_now() {
  const std::string text = TRY(sys::read_file_at(AT_FDCWD, "/proc/meminfo", 16 << 10));
  const std::size_t at = text.find("MemAvailable:");
  double kib = 0;
  if (at == std::string::npos || std::sscanf(text.c_str() + at, "MemAvailable: %lf kB", &kib) != 1)
    return fail(ErrorCode::kUnavailable, "/proc/meminfo has no MemAvailable");
  return kib;
}

}  // namespace

Result<std::uint64_t> faults_of_tree(int pid) {
  const std::map<int, Process> processes = all_processes();
  if (!processes.contains(pid)) return fail(ErrorCode::kUnavailable, "/proc does not show this process");
  const auto inside = [&](int one) {
    for (int steps = 0; steps < 64; ++steps) {
      if (one == pid) return true;
      const auto found = processes.find(one);
      if (found == processes.end()) return false;
      one = found->second.parent;
    }
    return false;
  };
  std::uint64_t sum = 0;
  for (const auto& [one, process] : processes) {
    if (inside(one)) sum += process.faults;
  }
  return sum;
}

Result<double> available_kib(milliseconds most) {
  const Deadline deadline = Deadline::in(most);
  double since = TRY(available_now());
  for (int still = 0;;) {
    (void)::poll(nullptr, 0, kLookAgainMs);  // no event tells when memory has been given back
    const double kib = TRY(available_now());
    if (std::fabs(kib - since) < kStillKib) {
      if (++still == kStillLooks) return kib;
    } else {
      still = 0;
      since = kib;
    }
    if (deadline.passed(now())) return kib;
  }
}

}  // namespace casemate::bench
