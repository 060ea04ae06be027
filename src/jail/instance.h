// A running instance of casemate: its number, its lock and its range of outside user ids.
//
// The runtime directory holds, per instance number, `<n>.lock` (never unlinked: a lock on a file that
// somebody else may have unlinked proves nothing) and, while it runs, `<n>.groups`: the directories
// below which it makes control groups, written before the first is made. A `.groups` file whose lock
// is free belongs to an instance that died. Recovery ends what it left and removes the file; one that
// cannot be proven gone keeps its file and its number, gets an `<n>.quarantined` beside it, and is not
// handed out until a later look finds it gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::jail {

// Root: /run/casemate. Others: $XDG_RUNTIME_DIR/casemate or /tmp/casemate-<uid>. Made with mode 0700.
// Errors: denied (it exists and is not ours alone).
Result<std::string> runtime_directory(const char* xdg_runtime_dir);

// Outside ids of one instance. Inside a nest 0 is the nest's root and 1, 2, … are slots.
struct IdRange {
  std::uint32_t nest_uid = 0, nest_gid = 0;    // what 0 is outside
  std::uint32_t first_uid = 0, first_gid = 0;  // what 1 is outside
  std::uint32_t count = 0;                     // slots: ids 1 to count
  bool single = false;                         // the weakening: only 0 is mapped, to ourselves
  bool by_root = false;                        // maps are written directly, else by newuidmap
};

class Instance {
 public:
  // Takes the first free number, after recovering what dead instances left.
  // Errors: exhausted (every number is taken), system (a leftover cannot be removed), denied.
  static Result<Instance> acquire(const std::string& directory);

  std::uint32_t number() const { return number_; }
  std::uint32_t recovered_groups() const { return recovered_groups_; }

  // Records where this instance is about to make groups.
  Result<void> record_bases(const std::vector<std::string>& paths);
  // A clean end: nothing is left that recovery would have to remove.
  void release();

  Instance(Instance&&) noexcept = default;
  Instance& operator=(Instance&&) noexcept = default;
  ~Instance() = default;

 private:
  Instance() = default;
  sys::Fd directory_;
  sys::Fd lock_;
  std::uint32_t number_ = 0;
  std::uint32_t recovered_groups_ = 0;
};

// The ids that instance `number` may hand out. As root a fixed range that neither Debian's adduser,
// /etc/subuid nor systemd hands out (systemd's UIDS-GIDS page calls 1879048192 to 2147483647 unused).
// Otherwise from /etc/subuid and /etc/subgid.
// Errors: denied (no subordinate range: what to do; or the weakening `single_id`).
Result<IdRange> ids_of_instance(std::uint32_t number, bool single_id);

// Writes the maps of a nest, whose init has the pid `pid` as seen here.
// Errors: system, denied (newuidmap refused or is not installed).
Result<void> write_id_maps(const IdRange& ids, int pid);

}  // namespace casemate::jail
