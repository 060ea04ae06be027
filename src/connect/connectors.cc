#include "connect/connectors.h"

#include <cstdlib>

#include "connect/exec_connector.h"

namespace casemate::connect {
namespace {

// What a program finds of our own environment: what it needs to start, and nothing that may be a secret.
std::vector<std::string> bare_environment() {
  std::vector<std::string> environment;
  for (const char* name : {"PATH", "HOME", "LANG", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

}  // namespace

Result<std::shared_ptr<bridge::Connector>> make_connector(const bridge::ConnectorSpec& spec,
                                                          const std::string& folder) {
  switch (spec.kind) {
    case bridge::ConnectorSpec::Kind::kExec: {
      ExecOptions options{spec.command, bare_environment(), folder, spec.parallel};
      return std::make_shared<ExecConnector>(std::move(options));
    }
    case bridge::ConnectorSpec::Kind::kCaller: break;
  }
  return fail(ErrorCode::kInvalid,
              "connectors." + spec.name +
                  ": kind \"caller\" is for a program that uses the engine itself; the command "
                  "line has nobody to answer");
}

}  // namespace casemate::connect
