// Connectors as a tools file asks for them.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "bridge/tools_file.h"

namespace casemate::connect {

// A program that the spec names relatively is looked for in `folder`. Errors: invalid (it is of a kind that
// this caller does not have).
Result<std::shared_ptr<bridge::Connector>> make_connector(const bridge::ConnectorSpec& spec,
                                                          const std::string& folder);

}  // namespace casemate::connect
