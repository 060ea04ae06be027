#include "engine/box_command.h"

#include <algorithm>
#include <iterator>

#include "sys/beneath.h"

namespace casemate::engine {
namespace {

constexpr std::uint32_t kRuntimePids = 96;
// Processes of the host's for one of the guest's (platform ptrace).
constexpr std::uint32_t kStubsOfAProcess = 3;
// Its file server holds one and more for each file that the guest has looked at.
constexpr std::uint32_t kRuntimeFiles = 8192;

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
std::vector<std::string> python_command() {
  // faulthandler shows the Python stack when the interpreter itself dies.
  return {"/usr/bin/python3",
          "-I",
          "-B",
          "-X",
          "faulthandler",
          "-c",
          "import sys; sys.path.insert(0, '/usr/lib/casemate/python'); "
          "from casemate import _runner; _runner.main()"};
}

std::vector<std::string> rung_command(frame::Rung rung, const box::Limits& limits,
                                      std::vector<std::string> program) {
  if (rung == frame::Rung::kJail) return program;
  std::vector<std::string> command = {"/usr/lib/casemate/casemate-gvisor",
                                      std::to_string(limits.file_size.count),
                                      std::to_string(limits.open_files), "/usr/lib/casemate/casemate-init"};
  command.insert(command.end(), std::make_move_iterator(program.begin()),
                 std::make_move_iterator(program.end()));
  return command;
}

box::Limits rung_limits(frame::Rung rung, box::Limits limits) {
  if (rung == frame::Rung::kJail) return limits;
  limits.pids = limits.pids * kStubsOfAProcess + kRuntimePids;
  limits.open_files = std::max(limits.open_files, std::min(kRuntimeFiles, box::this_machine().open_files));
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

std::vector<std::string> alone_command(const char* preload) {
  return python_running("_alone.main('" + std::string(preload) + "')()");
}

}  // namespace casemate::engine
