// The part of a tools file that says where an HTTP endpoint is.
#pragma once

#include "bridge/tools_file.h"
#include "toml/table.h"

namespace casemate::bridge {

inline constexpr std::size_t kHeadersMax = 32;

// Reads the keys of [connectors.x] that are for kind "http". What is wrong is a mistake of the table.
HttpSpec read_http_spec(toml::Table& table);

}  // namespace casemate::bridge
