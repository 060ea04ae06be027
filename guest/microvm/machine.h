// QEMU: what it is started with, and its start.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace casemate::guest {

// What casemate-microvm was asked for.
struct MachineRequest {
  std::string memory_mib = "256";  // of the machine
  std::string accelerator = "tcg";
  std::string limits;   // "name=value" each, ended by NUL: the guest's
  std::string command;  // as casemate-vm-init reads it, limits included
};

// Descriptors that QEMU inherits.
struct MachineEnds {
  int initramfs = -1, image = -1, port = -1;
};

// argv of QEMU. `counter_khz` is the rate of this machine's time stamp counter: software emulation shows it to the
// guest, whose kernel has no other clock to measure it by. Hardware virtualization tells the guest itself.
std::vector<std::string> machine_arguments(const MachineRequest& request, const MachineEnds& ends,
                                           const std::string& counter_khz);

struct Machine {
  pid_t pid = -1;
  int port = -1;  // our end of the guest's port, which does not block
};

// Starts it, from the box's own root; `image` is closed. Ends this process when it cannot be done.
Machine start_machine(const MachineRequest& request, int image);

// One line to stderr, and the exit code of a launcher that failed.
[[noreturn]] void die(const char* what);

}  // namespace casemate::guest
