// Where things are in an audit directory, and who may write them.
//
//   AUDIT/manifest/         a chain whose records name the writers
//   AUDIT/writers/NAME/     one writer's log: a chain, `lock`, `key`
//   AUDIT/index.db          made from the chains; may be removed
//
// A chain is 00000001.jsonl, 00000002.jsonl … beside `lock`, which is locked by whoever writes and never
// removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/disk.h"
#include "base/clock.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

inline constexpr const char* kManifestName = "manifest";
inline constexpr const char* kWritersName = "writers";
inline constexpr const char* kIndexName = "index.db";

// [a-z0-9][a-z0-9_.-]*, at most 64 characters.
bool is_writer_name(std::string_view text);

// Opens the directory for writing, mode 0700, and makes what is missing of it and on the way to it. The names
// are on the disk when it returns. Errors: unavailable (the message says what is in the way; also when others
// may write there).
Result<sys::Fd> make_audit_directory(const std::string& path, Disk& disk);
// Errors: not_found, system.
Result<sys::Fd> open_audit_directory(const std::string& path);

// The directory of one chain: "manifest", or "writers/NAME". Errors: unavailable; system.
Result<sys::Fd> make_chain_directory(const sys::Fd& audit, const std::string& name, Disk& disk);
Result<sys::Fd> open_chain_directory(const sys::Fd& audit, const std::string& name);
std::string writer_path(std::string_view writer);

// The names in `writers`, sorted; none when there is no such directory.
// Errors: system, exhausted (more than kAuditWritersMax).
Result<std::vector<std::string>> writer_names(const sys::Fd& audit);

// Locks a chain for writing; the lock ends with the descriptor. fcntl(2), F_OFD_SETLK.
// Errors: unavailable (somebody else has it until the deadline, or it cannot be made).
Result<sys::Fd> lock_chain(const sys::Fd& directory, Deadline deadline);
// Whether somebody writes the chain now. Takes no lock.
bool is_chain_locked(const sys::Fd& directory);

}  // namespace casemate::audit
