// Theory of operation: the warden.
//
// One thread. It holds every box by pidfd, so that a box's end never depends on the engine; it parses
// nothing but fixed binary structures from its one peer; it opens no file that a guest named except
// beneath the guest's own layer. When its peer goes away it destroys every box, removes what it made
// and exits. Killed itself, it leaves no process (each nest's init exits when its link closes) and
// empty control groups, which the next instance removes.
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sys/process.h"
#include "warden.h"

namespace casemate {
namespace {

using namespace frame;  // the protocol's names

constexpr milliseconds kRefusedTime{20'000};
constexpr const char* kUsage =
    "casemate-warden makes boxes for casemate and ends them. It is started by casemate, with its socket as\n"
    "descriptor 3; there is nothing to run it by hand for.\n"
    "\n"
    "  --weaken single-id   boxes share the user's own id\n"
    "  --weaken no-cgroup   memory, processes and CPU time are limited per process only\n";

// After a refusal: reads and drops what the peer asked before it knew. A socket closed with something
// unread in it would take the refusal away from the peer.
void wait_for_end(const sys::Fd& peer) {
  const Deadline deadline = Deadline::in(kRefusedTime);
  for (;;) {
    const auto readable = sys::wait_readable(peer, deadline);
    if (!readable || !*readable) return;
    const auto message = sys::receive_message(peer, kMessageMax);
    if (!message || message->end) return;
  }
}

int run(int argc, char** argv) {
  bool single_id = false;
  bool no_cgroup = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--weaken" && value == "single-id") {
      single_id = true;
      ++i;
    } else if (argument == "--weaken" && value == "no-cgroup") {
      no_cgroup = true;
      ++i;
    } else {
      std::fputs(kUsage, argument == "--help" ? stdout : stderr);
      return argument == "--help" ? 0 : 2;
    }
  }
  sys::Fd peer(3);
  if (::fcntl(3, F_SETFD, FD_CLOEXEC) < 0) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  // stops: a terminal's Ctrl-C from ending the one process that cleans up; and others of the same
  // user from reaching into it.
  (void)::setsid();
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)sys::raise_open_files();  // some ten for each slot that waits; the engine refuses what is too much

  const auto refuse = [&](const Error& error) {
    Hello hello;
    put_text(hello.text, error.message);
    (void)sys::send_message(peer, bytes_of(hello), {});
    wait_for_end(peer);
    return 1;
  };
  auto directory = jail::runtime_directory(::getenv("XDG_RUNTIME_DIR"));
  if (!directory) return refuse(directory.error());
  auto instance = jail::Instance::acquire(*directory);
  if (!instance) return refuse(instance.error());
  Warden warden(std::move(peer), std::move(*instance));
  if (!warden.prepare(single_id, no_cgroup)) {
    wait_for_end(warden.peer());
    return 1;
  }
  warden.serve();
  return 0;
}

}  // namespace
}  // namespace casemate

int main(int argc, char** argv) { return casemate::run(argc, argv); }
