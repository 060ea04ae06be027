// Where control groups can be made on this host. See cgroup.h.
#include "jail/cgroup_layout.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/split.h"
#include "jail/cgroup.h"

namespace casemate::jail {
namespace {

constexpr std::size_t kProcFileMax = 1 << 20;

// A path of mountinfo, where a space, tab, line end or backslash stands as its octal number.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    int byte = 0;
    if (text[at] == '\\' && at + 3 < text.size() &&
        std::from_chars(text.data() + at + 1, text.data() + at + 4, byte, 8).ptr == text.data() + at + 4) {
      plain.push_back(static_cast<char>(byte));
      at += 3;
    } else {
      plain.push_back(text[at]);
    }
  }
  return plain;
}

}  // namespace

std::vector<CgroupMount> cgroup_mounts(const std::string& mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> before = split(line.substr(0, dash), ' ');
    const std::vector<std::string> after = split(line.substr(dash + 3), ' ');
    if (before.size() < 6 || after.size() < 3) continue;
    if (after[0] != "cgroup" && after[0] != "cgroup2") continue;
    mounts.push_back(
        CgroupMount{unescape(before[4]), unescape(before[3]), after[0] == "cgroup2", split(after[2], ',')});
  }
  return mounts;
}

std::string own_group(const std::string& cgroups, const std::string& controller) {
  for (const std::string& line : split(cgroups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> names = split(line.substr(first + 1, second - first - 1), ',');
    const bool match = controller.empty() ? second == first + 1
                                          : std::find(names.begin(), names.end(), controller) != names.end();
    if (match) return line.substr(second + 1);
  }
  return "/";
}

std::string group_directory(const CgroupMount& mount, const std::string& own) {
  // A group outside this process's cgroup namespace. cgroup_namespaces(7).
  if (own == "/.." || own.starts_with("/../")) return {};
  if (own == "/" && mount.root == "/") return mount.point;
  if (mount.root == "/") return mount.point + own;
  if (own == mount.root) return mount.point;
  if (own.starts_with(mount.root + "/")) return mount.point + own.substr(mount.root.size());
  return {};
}

namespace {

bool can_make_groups(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) < 0 || !S_ISDIR(status.st_mode)) return false;
  return ::access(path.c_str(), W_OK | X_OK) == 0 && ::access((path + "/cgroup.procs").c_str(), W_OK) == 0;
}

// A directory below which groups can be made in a v1 hierarchy: our own group, else the top.
std::string usable_v1_base(const CgroupMount& mount, const std::string& own) {
  std::string candidate = group_directory(mount, own);
  if (!candidate.empty() && can_make_groups(candidate)) return candidate;
  return can_make_groups(mount.point) ? mount.point : std::string();
}

constexpr const char* kRemedy =
    "start it through `systemd-run --user --scope -p Delegate=yes`, let an administrator delegate a control "
    "group, or run as root; `casemate doctor` shows what this host gives";

// Makes a v2 group usable as a base. A group that has processes cannot have limited children (the
// "no internal processes" rule of cgroups(7)), so this process moves into a leaf below it first.
Result<void> enable_v2(const std::string& base, const std::vector<std::string>& wanted,
                       std::uint32_t instance) {
  const sys::Fd directory = TRY(sys::open_at(AT_FDCWD, base, O_RDONLY | O_DIRECTORY));
  const std::string enabled = TRY(sys::read_file_at(directory.get(), "cgroup.subtree_control", kProcFileMax));
  const std::vector<std::string> have = split(enabled.substr(0, enabled.find('\n')), ' ');
  std::string missing;
  for (const std::string& name : wanted) {
    if (std::find(have.begin(), have.end(), name) == have.end()) missing += "+" + name + " ";
  }
  if (missing.empty()) return {};
  // The top of the hierarchy is exempt from the rule; below it we have to leave the group first.
  if (::faccessat(directory.get(), "cgroup.type", F_OK, 0) < 0) {
    return sys::write_file_at(directory.get(), "cgroup.subtree_control", missing);
  }
  const std::string leaf = group_name(instance, 0);
  if (::mkdirat(directory.get(), leaf.c_str(), 0755) < 0 && errno != EEXIST)
    return fail_errno("make " + leaf);
  auto done = sys::write_file_at(directory.get(), leaf + "/cgroup.procs", "0");
  if (done) done = sys::write_file_at(directory.get(), "cgroup.subtree_control", missing);
  if (!done) {
    // EBUSY: others are in this group, which was not made for us alone. Back to them, without a trace.
    (void)sys::write_file_at(directory.get(), "cgroup.procs", "0");
    (void)::unlinkat(directory.get(), leaf.c_str(), AT_REMOVEDIR);
  }
  return done;
}

struct Name {
  const char* name;
  Controller controller;
};
constexpr std::array<Name, 3> kLimited = {
    {{"memory", Controller::kMemory}, {"pids", Controller::kPids}, {"cpu", Controller::kCpu}}};

}  // namespace

const CgroupBase* CgroupLayout::base_of(Controller controller) const {
  for (const CgroupBase& base : bases) {
    if (std::find(base.controllers.begin(), base.controllers.end(), controller) != base.controllers.end()) {
      return &base;
    }
  }
  return nullptr;
}

Result<CgroupLayout> find_cgroups(std::uint32_t instance) {
  const std::string mountinfo = TRY(sys::read_file_at(AT_FDCWD, "/proc/self/mountinfo", kProcFileMax));
  const std::string own = TRY(sys::read_file_at(AT_FDCWD, "/proc/self/cgroup", kProcFileMax));
  const std::vector<CgroupMount> mounts = cgroup_mounts(mountinfo);

  CgroupLayout layout;
  const auto add = [&](const std::string& path, bool v2, Controller controller) {
    for (CgroupBase& base : layout.bases) {
      if (base.path == path) return base.controllers.push_back(controller);
    }
    layout.bases.push_back(CgroupBase{path, v2, {controller}});
  };

  // v2 first: its own group if we may use it, else the top.
  std::vector<std::string> on_v2;
  for (const CgroupMount& mount : mounts) {
    if (!mount.v2) continue;
    const std::string mine = group_directory(mount, own_group(own, ""));
    std::string base;
    // Our own group, when it was delegated (an ordinary user can write there) or is the top itself.
    if (::geteuid() != 0 && !mine.empty() && can_make_groups(mine)) base = mine;
    if (::geteuid() == 0 && can_make_groups(mount.point)) base = mount.point;
    if (base.empty()) continue;
    const auto available = sys::read_file_at(AT_FDCWD, base + "/cgroup.controllers", kProcFileMax);
    const std::vector<std::string> names =
        available ? split(available->substr(0, available->find('\n')), ' ') : std::vector<std::string>{};
    std::vector<std::string> wanted;
    for (const Name& limited : kLimited) {
      if (std::find(names.begin(), names.end(), limited.name) != names.end())
        wanted.emplace_back(limited.name);
    }
    if (auto enabled = enable_v2(base, wanted, instance); !enabled) {
      return fail(ErrorCode::kDenied,
                  "control groups cannot be used: " + enabled.error().message + "; " + kRemedy);
    }
    add(base, true, Controller::kUnified);
    for (const Name& limited : kLimited) {
      if (std::find(wanted.begin(), wanted.end(), limited.name) == wanted.end()) continue;
      add(base, true, limited.controller);
      on_v2.emplace_back(limited.name);
    }
    break;
  }
  bool any_v1 = false;
  const auto add_v1 = [&](const char* name, Controller controller) {
    for (const CgroupMount& mount : mounts) {
      if (mount.v2 || std::find(mount.options.begin(), mount.options.end(), name) == mount.options.end())
        continue;
      const std::string base = usable_v1_base(mount, own_group(own, name));
      if (base.empty()) continue;
      add(base, false, controller);
      any_v1 = true;
      return;
    }
  };
  for (const Name& limited : kLimited) {
    if (std::find(on_v2.begin(), on_v2.end(), limited.name) == on_v2.end()) {
      add_v1(limited.name, limited.controller);
    }
  }
  // CPU time is in every v2 group's cpu.stat, controller or not.
  if (layout.base_of(Controller::kUnified) == nullptr) {
    add_v1("cpuacct", Controller::kCpuAcct);
    add_v1("freezer", Controller::kFreezer);
  }

  for (const Name& limited : kLimited) {
    if (layout.base_of(limited.controller) == nullptr) {
      return fail(ErrorCode::kDenied, std::string("this host gives no usable '") + limited.name +
                                          "' control group, so that limit cannot be kept; " + kRemedy);
    }
  }
  const bool any_v2 = layout.base_of(Controller::kUnified) != nullptr;
  layout.kind = any_v1 && any_v2 ? CgroupKind::kHybrid : any_v2 ? CgroupKind::kV2 : CgroupKind::kV1;
  return layout;
}

}  // namespace casemate::jail
