// QEMU: what it is started with, and its start.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace casemate::guest {

enum class MachineKind {
  kBooted,    // for one run
  kTemplate,  // booted, in a file of memory that is to be kept
  kRestored,  // from such a file and the state of its devices, both of which stay as they are
};

// What casemate-microvm was asked for.
struct MachineRequest {
  MachineKind kind = MachineKind::kBooted;
  std::string memory_mib = "256";  // of the machine
  std::string accelerator = "tcg";
  std::string limits;   // "name=value" each, ended by NUL: the guest's
  std::string command;  // as casemate-vm-init reads it, limits included
};

// Descriptors that QEMU inherits; -1 where its kind has none.
struct MachineEnds {
  int image = -1, port = -1;
  int initramfs = -1;
  int memory = -1, monitor = -1;
};

// argv of QEMU. A machine is restored with the devices that it was saved with, in their order. `counter_khz`
// is the rate of this machine's time stamp counter: software emulation shows it to the guest, whose kernel
// has no other clock to measure it by. Hardware virtualization tells the guest itself.
std::vector<std::string> machine_arguments(const MachineRequest& request, const MachineEnds& ends,
                                           const std::string& counter_khz);

struct Machine {
  pid_t pid = -1;
  int port = -1;     // our end of the guest's port, which does not block
  int monitor = -1;  // of QEMU's monitor, which does; -1: a booted one has none
};

// Starts it, from the box's own root. Ends this process when it cannot be done.
Machine start_machine(const MachineRequest& request, int image, int memory);

// One line to stderr, and the exit code of a launcher that failed.
[[noreturn]] void die(const char* what);

}  // namespace casemate::guest
