// What process 1 of a microvm makes before it starts the program: devices, the program's root, its limits.
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

namespace casemate::guest {

inline constexpr const char* kRoot = "/root";                   // the program's
inline constexpr const char* kProgramGroup = "/group/program";  // its control group

struct GuestLimits {
  std::string memory, processes;  // as control group files have them
  std::string disk = "64m", inodes = "16384";
  rlim_t file_size = RLIM_INFINITY, open_files = 1024;
};

// From the initramfs: see init.cc.
struct Command {
  std::vector<char*> arguments, environment;  // each ended by nullptr
  GuestLimits limits;
  std::string bytes;  // what they point into
};

// Each ends the machine when it cannot be done: fail() in init.cc.
void read_command(Command& command);
void load_modules();
void make_tree(const GuestLimits& limits);
void make_group(const GuestLimits& limits);
// For a process that is about to execute the program: into its root and its group, without any right.
void enter_tree(const GuestLimits& limits);

// Says it to the launcher, if that can be reached, and ends the machine.
[[noreturn]] void fail(const char* what);
inline void need(bool done, const char* what) {
  if (!done) fail(what);
}
void write_text(const std::string& path, const std::string& text);
// The number behind `key`, or the whole file when that is empty; 0 when there is none.
unsigned long long number_in(const std::string& path, const std::string& key);

}  // namespace casemate::guest
