// What `casemate run --tools` grants: the tools file, the policy, the audit log, and connectors for them.
#pragma once

#include <memory>
#include <string>

#include "approve/desk.h"
#include "approve/server.h"
#include "audit/log.h"
#include "bridge/bridge.h"
#include "run_options.h"

namespace casemate {

// The grants of this process's runs, and what they need to live on.
struct RunGrants {
  std::shared_ptr<const bridge::Grants> grants;  // nullptr: none are asked for
  std::string tools_sha256;                      // of the tools file
  std::unique_ptr<audit::Log> log;               // of runs and calls; nullptr: none is asked for
  std::unique_ptr<approve::Desk> desk;           // nullptr: nobody is asked
  std::unique_ptr<approve::Server> server;       // for `casemate approvals`
  bool at_terminal = false;                      // the person at it is asked
  std::unique_ptr<bridge::Workers> workers;      // the last here, so the first to go
};

// Reads the files, and opens the log. Errors: invalid (all that is wrong with the files, one line each, with
// line and column), unavailable (the log cannot be written: then nothing may run).
Result<RunGrants> make_grants(const RunOptions& options);

}  // namespace casemate
