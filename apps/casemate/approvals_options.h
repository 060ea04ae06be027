// What `casemate approvals` and its commands take, and what --help says of them.
#pragma once

#include <optional>
#include <string>

#include "options.h"

namespace casemate {

struct ApprovalsArguments {
  std::string id;
  std::optional<std::string> arguments;
  std::string reason;
  bool json = false;
};

extern const char* const kApprovalsUsage;

// The arguments must outlive the table.
Command approvals_list_table(ApprovalsArguments& arguments);
Command approvals_show_table(ApprovalsArguments& arguments);
Command approvals_allow_table(ApprovalsArguments& arguments);
Command approvals_deny_table(ApprovalsArguments& arguments);

}  // namespace casemate
