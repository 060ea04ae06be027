// The parts of finding control groups that only read text: see cgroup_layout.cc.
#pragma once

#include <string>
#include <vector>

namespace casemate::jail {

// A cgroup file system as /proc/self/mountinfo tells it (proc(5)).
struct CgroupMount {
  std::string point;
  std::string root;  // the group that is visible at `point`
  bool v2 = false;
  std::vector<std::string> options;  // v1: the controllers are among them
};

// The cgroup file systems of a mountinfo text, in its order. Lines that are none are left out.
std::vector<CgroupMount> cgroup_mounts(const std::string& mountinfo);

// The path of a process's group in the hierarchy of a v1 controller, or with an empty name in v2, from
// the text of /proc/PID/cgroup ("4:memory:/a", "0::/b"). "/" where the hierarchy is not named.
std::string own_group(const std::string& cgroups, const std::string& controller);

// The directory of that group below the mount; empty when the mount does not show it.
std::string group_directory(const CgroupMount& mount, const std::string& own);

}  // namespace casemate::jail
