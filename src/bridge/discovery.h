// What a guest asks about the capabilities themselves. Nothing is judged and nothing recorded: it is told
// what it is granted, and that has no effect.
#pragma once

#include <string_view>

#include "bridge/call_reader.h"
#include "bridge/reply.h"
#include "bridge/toolbox.h"

namespace casemate::bridge {

// "casemate.search", "casemate.describe", "casemate.names".
bool is_discovery(std::string_view name);
// The answer; an error for arguments that are not right.
Reply discover(const Toolbox& tools, const WantedCall& wanted);

}  // namespace casemate::bridge
