// What is asked for: one program to run, and how.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "box/spec.h"
#include "bridge/bridge.h"
#include "engine/sandbox.h"
#include "outcome/outcome.h"
#include "sys/fd.h"

namespace casemate::engine {

// Where the request's program comes from decides the weakest rung that it may run on.
enum class Trust { kTrusted, kUntrusted, kHostile };
const char* trust_name(Trust trust);

enum class Isolation { kAuto, kJail, kGvisor, kMicrovm };
const char* isolation_name(Isolation isolation);

// A file that the program finds below /work when it starts. The bytes go in through the runner, so
// that nothing of ours writes in the guest's tree.
struct InputFile {
  std::string path;  // relative to /work
  sys::Fd source;    // a regular file of ours, read from its start
};

struct Request {
  std::string program;  // the source, exact bytes
  std::string program_name = "program.py";
  std::vector<std::string> arguments;    // sys.argv[1:]
  std::vector<std::string> environment;  // NAME=VALUE, beside what every box has
  std::string stdin_bytes;               // what the program reads; nothing is the end of file at once
  std::vector<InputFile> files;
  std::vector<std::string> artifacts;  // paths that are products whether or not the program says so

  // What the program may call; nothing without.
  std::shared_ptr<const bridge::Grants> grants;
  bridge::CallLimits call_limits;
  // What the program, or who wrote it, was exposed to before. `untrusted` makes the request hostile.
  policy::Labels labels;

  std::string tenant = "local";
  Trust trust = Trust::kUntrusted;
  Isolation isolation = Isolation::kAuto;
  Sandbox sandbox = Sandbox::kOwn;
  box::Limits limits;
  outcome::LimitValues requested;  // those that the caller named, for the outcome
  box::Weakenings weakenings;

  // Test builds only.
  std::uint64_t walls_off = 0;
  std::uint32_t fail_stage = 0;
};

// Everything about a request that can be wrong without asking the host.
// Errors: invalid; one line that says what is wrong and what to do.
Result<void> check_request(const Request& request);

// The limits of a run as its outcome tells them: all that are enforced.
outcome::LimitValues effective_limits(const box::Limits& limits);

}  // namespace casemate::engine
