// What `casemate run` reads before there is a box: the program, its standard input and its files.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "engine/request.h"

namespace casemate {

// A whole file, or standard input for "-". `what` names it in an error.
// Errors: invalid (one line), system.
Result<std::string> read_input(const std::string& path, std::size_t most, const char* what);

// SRC or SRC:DEST; DEST is below /work and defaults to SRC's last component. Errors: invalid, system.
Result<engine::InputFile> parse_input_file(const std::string& text);

}  // namespace casemate
