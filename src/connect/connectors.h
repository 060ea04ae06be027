// Connectors as a tools file asks for them.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "bridge/tools_file.h"

namespace casemate::connect {

// Where things are that a spec does not say.
struct Places {
  std::string folder;        // what the spec names relatively is looked for here
  std::string http_program;  // casemate-http
};

// Takes what the spec names of our environment and of the disk, once.
// Errors: invalid (it is of a kind that this caller does not have; a variable or a file is not there or
// cannot be used), not_found (a part of casemate is missing). None repeats what a variable holds.
Result<std::shared_ptr<bridge::Connector>> make_connector(const bridge::ConnectorSpec& spec,
                                                          const Places& places);

}  // namespace casemate::connect
