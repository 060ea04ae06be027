// What a box executes and what it finds in its environment. All of it is built here; nothing is inherited.
#pragma once

#include <string>
#include <vector>

#include "box/spec.h"

namespace casemate::engine {

// NAME=VALUE of every box, before what the request adds.
std::vector<std::string> box_environment(const box::Limits& limits);

// The zygote of a preload set ("bare", "numpy", "pandas"): descriptor 3 is its link.
std::vector<std::string> zygote_command(const char* preload);

// A slot of that set that no zygote forks: a runner that prepares itself.
std::vector<std::string> alone_command(const char* preload);

// Whether a box of this image has the interpreter that these commands name. What kNoPython says otherwise.
bool has_python(const std::string& rootfs);
inline constexpr const char* kNoPython =
    "the image has no Python: /usr/bin/python3 is not in it, or leads nowhere";

// The Python runner: argv, with a path in the image first.
std::vector<std::string> python_command();

// What a box of this rung executes in order to run `program` in it.
std::vector<std::string> rung_command(frame::Rung rung, const box::Limits& limits,
                                      std::vector<std::string> program);
// What a box of this rung may use where its guest may use `limits`. Memory is that of the whole box; the
// host's processes and descriptors are not the guest's, and a runtime needs more of them.
box::Limits rung_limits(frame::Rung rung, box::Limits limits);

}  // namespace casemate::engine
