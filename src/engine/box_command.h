// What a box executes and what it finds in its environment. All of it is built here; nothing is inherited.
#pragma once

#include <string>
#include <vector>

#include "box/spec.h"
#include "engine/sandbox.h"

namespace casemate::engine {

// NAME=VALUE of every box, before what the request adds.
std::vector<std::string> box_environment(const box::Limits& limits);

// The zygote of a preload set ("bare", "numpy", "pandas"): descriptor 3 is its link.
std::vector<std::string> zygote_command(const char* preload);

// A slot of that set that no zygote forks: a runner that prepares itself, in one machine or, `restored`, in
// another than it goes on in.
std::vector<std::string> alone_command(const char* preload, bool restored);

// The zygote of that set in a sandbox that runs share, each of which may write so much to each of its file
// systems.
std::vector<std::string> shared_command(const char* preload, Bytes disk);

// Whether a box of this image has the interpreter that these commands name. What kNoPython says otherwise.
bool has_python(const std::string& rootfs);
inline constexpr const char* kNoPython =
    "the image has no Python: /usr/bin/python3 is not in it, or leads nowhere";

// The Python runner: argv, with a path in the image first. In a guest with a kernel of its own, whose start
// may take long or for ever, it says when it is there.
std::vector<std::string> python_command(frame::Rung rung = frame::Rung::kJail);

// A box of a rung whose guest may use `limits`, and reads so much.
struct RungBox {
  frame::Rung rung = frame::Rung::kJail;
  box::Limits limits;
  Bytes input{0};
  // On the microvm rung: how its machine comes to be.
  enum class Machine { kRun, kTemplate, kRestore };
  Machine machine = Machine::kRun;
  Sandbox sandbox = Sandbox::kOwn;  // on the gvisor rung
};
// Of a machine, for its guest's kernel too; a whole number of MiB.
Bytes machine_memory(const RungBox& box);
// What it executes in order to run `program` in its guest.
std::vector<std::string> box_command(const RungBox& box, std::vector<std::string> program);
// What the box may use. Memory is that of the whole box, its runtime included where that cannot be told from
// the guest (gvisor); the host's processes and descriptors are not the guest's, and a runtime needs more of
// them.
box::Limits box_limits(const RungBox& box);

}  // namespace casemate::engine
