#include "engine/box_command.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "sys/beneath.h"

namespace casemate::engine {
namespace {

constexpr std::uint32_t kRuntimePids = 96;
// Processes of the host's for one of the guest's (platform ptrace).
constexpr std::uint32_t kStubsOfAProcess = 3;
// Its file server holds one and more for each file that the guest has looked at.
constexpr std::uint32_t kRuntimeFiles = 8192;
constexpr std::uint32_t kMachineFiles = 64;
// Of QEMU beside its guest's: what it was booted with, translated code, its own.
constexpr Bytes kMachineMemory = mib(224);

}  // namespace

std::vector<std::string> box_environment(const box::Limits& limits) {
  return {"PATH=/usr/local/bin:/usr/bin:/bin",
          "HOME=/vol/home",
          "TMPDIR=/tmp",
          "XDG_CACHE_HOME=/vol/home/.cache",
          "LANG=C.UTF-8",
          "TZ=UTC",
          "USER=box",
          "LOGNAME=box",
          "SHELL=/bin/bash",
          "MPLBACKEND=Agg",
          "MPLCONFIGDIR=/vol/home/.config/matplotlib",
          "PYTHONPATH=/usr/lib/casemate/python",
          "PYTHONDONTWRITEBYTECODE=1",
          "CASEMATE_MEMORY_BYTES=" + std::to_string(limits.memory.count)};
}

bool has_python(const std::string& rootfs) { return sys::has_program(rootfs, "usr/bin/python3"); }

// Isolated mode (-I) and no bytecode (-B), as guest/python/casemate/_runner.py says.
std::vector<std::string> python_command(frame::Rung rung) {
  // faulthandler shows the Python stack when the interpreter itself dies.
  return {"/usr/bin/python3",
          "-I",
          "-B",
          "-X",
          "faulthandler",
          "-c",
          std::string(
              "import sys; sys.path.insert(0, '/usr/lib/casemate/python'); from casemate import _runner; ") +
              (rung == frame::Rung::kJail ? "_runner.main()" : "_runner.main(begun=True)")};
}

// For the kernel and its tables of so much memory, for process 1, and for the input, which is a file in it.
// Measured with a program that fills its memory, at 32 MiB to 1 GiB: with half as much beside it the machine
// is full before the program has met its limit, and reads the program's pages anew for minutes before it ends
// it.
Bytes machine_memory(const RungBox& box) {
  const std::uint64_t bytes =
      box.limits.memory.count + mib(128).count + box.limits.memory.count / 32 + box.input.count;
  return mib((bytes >> 20) + 1);
}

namespace {

std::vector<std::string> microvm_command(const RungBox& box) {
  const auto entry = [](const char* name, std::uint64_t value) {
    return std::string(name) + "=" + std::to_string(value);
  };
  const box::Limits& limits = box.limits;
  constexpr std::array kMachines = {"run", "template", "restore"};
  return {"/usr/lib/casemate/casemate-microvm",
          kMachines.at(static_cast<std::size_t>(box.machine)),
          entry("machine", machine_memory(box).count >> 20),
          entry("memory", limits.memory.count),
          entry("processes", limits.pids),
          entry("disk", limits.disk.count),
          entry("inodes", limits.inodes),
          entry("file_size", limits.file_size.count),
          entry("open_files", limits.open_files),
          "--"};
}

}  // namespace

std::vector<std::string> box_command(const RungBox& box, std::vector<std::string> program) {
  std::vector<std::string> command;
  switch (box.rung) {
    case frame::Rung::kJail: return program;
    case frame::Rung::kGvisor:
      command = {"/usr/lib/casemate/casemate-gvisor", box.sandbox == Sandbox::kShared ? "shared" : "own",
                 std::to_string(box.limits.file_size.count), std::to_string(box.limits.open_files),
                 "/usr/lib/casemate/casemate-init"};
      break;
    case frame::Rung::kMicrovm: command = microvm_command(box); break;
  }
  command.insert(command.end(), std::make_move_iterator(program.begin()),
                 std::make_move_iterator(program.end()));
  return command;
}

box::Limits box_limits(const RungBox& box) {
  box::Limits limits = box.limits;
  switch (box.rung) {
    case frame::Rung::kJail: break;
    case frame::Rung::kGvisor:
      limits.pids = limits.pids * kStubsOfAProcess + kRuntimePids;
      limits.open_files =
          std::max(limits.open_files, std::min(kRuntimeFiles, box::this_machine().open_files));
      break;
    case frame::Rung::kMicrovm:
      // The guest's kernel keeps the program's; these are QEMU's, and room for the products.
      limits.memory = {machine_memory(box).count + kMachineMemory.count + limits.disk.count};
      limits.file_size = {std::max(limits.file_size.count, machine_memory(box).count + mib(1).count)};
      limits.pids = kRuntimePids;
      limits.open_files = std::max(limits.open_files, kMachineFiles);
      break;
  }
  return limits;
}

namespace {

std::vector<std::string> python_running(const std::string& module_and_call) {
  std::vector<std::string> command = python_command();
  const std::size_t dot = module_and_call.find('.');
  command.back() = "import sys; sys.path.insert(0, '/usr/lib/casemate/python'); from casemate import " +
                   module_and_call.substr(0, dot) + "; " + module_and_call;
  return command;
}

}  // namespace

std::vector<std::string> zygote_command(const char* preload) {
  return python_running("_zygote.main('" + std::string(preload) + "', 3)()");
}

std::vector<std::string> shared_command(const char* preload, Bytes disk) {
  return python_running("_shared.main('" + std::string(preload) + "', " + std::to_string(disk.count) + ")()");
}

std::vector<std::string> alone_command(const char* preload, bool restored) {
  const char* how = restored ? "', template=True)()" : "')()";
  return python_running("_alone.main('" + std::string(preload) + how);
}

}  // namespace casemate::engine
