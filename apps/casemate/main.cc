// casemate: the command line. Parses, builds the parts, runs.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "approvals_command.h"
#include "audit_command.h"
#include "bench/bench_command.h"
#include "doctor_command.h"
#include "image_command.h"
#include "json/utf8.h"
#include "policy_command.h"
#include "reconcile_command.h"
#include "run_command.h"
#include "tap_command.h"

namespace {

constexpr const char* kUsage =
    "casemate runs a program that nobody reviewed in a box of its own.\n"
    "\n"
    "  casemate run PROGRAM      run a Python program in a fresh box\n"
    "  casemate doctor           what this host gives, promise by promise, and how to fix what is missing\n"
    "  casemate bench            what runs cost here, against Python bare and in other sandboxes\n"
    "  casemate image COMMAND    build, list, inspect and verify the images that boxes run in\n"
    "  casemate policy COMMAND   check policy files and explain what they decide\n"
    "  casemate approvals COMMAND  answer the calls that policy asks a person about\n"
    "  casemate audit COMMAND    look at the audit log, follow, verify and export it\n"
    "  casemate reconcile        whether the audit log and what others saw agree\n"
    "  casemate tap -- COMMAND   run a connector's program and write down what it is asked\n"
    "\n"
    "Examples:\n"
    "  casemate run --trust trusted analysis.py\n"
    "  echo 'print(6 * 7)' | casemate run --trust trusted -\n"
    "  casemate run --trust trusted --file sales.csv --out results report.py\n"
    "\n"
    "`casemate COMMAND --help` says more.\n";

// A caller may have closed them. Then a socket or a file of ours would become standard output, and what
// a program prints would go there.
void open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);  // the lowest free number: this one
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  (void)std::signal(SIGPIPE, SIG_IGN);
  const std::string_view command = argc > 1 ? argv[1] : "--help";
  if (command == "run") return casemate::run_command(argc - 1, argv + 1);
  if (command == "doctor") return casemate::doctor_command(argc - 1, argv + 1);
  if (command == "bench") return casemate::bench_command(argc - 1, argv + 1);
  if (command == "approvals") return casemate::approvals_command(argc - 1, argv + 1);
  if (command == "audit") return casemate::audit_command(argc - 1, argv + 1);
  if (command == "reconcile") return casemate::reconcile_command(argc - 1, argv + 1);
  if (command == "tap") return casemate::tap_command(argc - 1, argv + 1);
  if (command == "image") return casemate::image_command(argc - 1, argv + 1);
  if (command == "policy") return casemate::policy_command(argc - 1, argv + 1);
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kUsage, stdout);
    return argc > 1 ? 0 : 2;
  }
  if (command == "--version") {
    std::puts("casemate 0.1.0");
    return 0;
  }
  std::fprintf(stderr, "casemate: there is no command '%s'; `casemate --help` lists them\n",
               casemate::json::escape_control(command).c_str());
  return 2;
}
