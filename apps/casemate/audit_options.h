// What `casemate audit` and its commands take, and what --help says of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/index.h"
#include "options.h"

namespace casemate {

// Of all the commands: each table fills its own part.
struct AuditArguments {
  std::optional<std::string> directory;
  std::string run;  // of show; else --run
  std::optional<std::string> writer;
  std::optional<std::string> capability;
  std::optional<std::string> verdict;
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<std::string> lines;
  std::vector<std::string> heads;
  bool follow = false;
  bool json = false;
};

extern const char* const kAuditUsage;

// The arguments must outlive the table.
Command audit_tail_table(AuditArguments& arguments);
Command audit_show_table(AuditArguments& arguments);
Command audit_verify_table(AuditArguments& arguments);
Command audit_export_table(AuditArguments& arguments);

// What --audit says; else $CASEMATE_AUDIT, an absolute path; else /var/lib/casemate/audit for root, and for
// others below $XDG_STATE_HOME or ~/.local/state. Errors: not_found (none of these is set).
Result<std::string> audit_directory_of(const std::optional<std::string>& named_so);

// "2026-07-30", "2026-07-30T12:00:00Z", with a fraction or without. Errors: invalid, naming the option.
Result<audit::Time> audit_time_of(const char* option, std::string text);
// Errors: invalid, naming the option.
Result<audit::Query> audit_query_of(const AuditArguments& arguments);
Result<std::size_t> audit_lines_of(const AuditArguments& arguments);

}  // namespace casemate
