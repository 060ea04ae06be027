// casemate-init: process 1 of a guest that has a kernel of its own. Starts the program, reaps what is left
// without a parent, and when the program has ended ends everything else and tells the engine how it ended:
// the kernel outside cannot know, and an exit code alone could not tell a signal.
//
//     casemate-init PROGRAM ARGUMENT...
//
// Descriptor 0 is the control socket; the program finds it as 3, and its input as 0.
#include "init/init.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "init/end_frame.h"

namespace {

constexpr int kControl = 3;
constexpr int kExitFailed = 125;
constexpr int kExitSignalled = 128;

// `failed` closes with the execution; one that fails writes to it.
[[noreturn]] void run_program(char** arguments, int failed) {
  (void)::setsid();
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::execv(arguments[0], arguments);
  (void)!::write(failed, "x", 1);
  ::_exit(kExitFailed);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return kExitFailed;
  // Before a child can be lost: nothing but SIGKILL and SIGSTOP reaches process 1 without a handler.
  sigset_t all;
  (void)::sigfillset(&all);
  (void)::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int kept = ::fcntl(0, F_DUPFD_CLOEXEC, kControl + 1);  // our own, which the program does not have
  if (kept < 0 || ::dup2(0, kControl) < 0) return kExitFailed;
  (void)::close(0);
  if (::open(casemate::guest::kInput, O_RDONLY) != 0 && ::open("/dev/null", O_RDONLY) != 0)
    return kExitFailed;
  (void)::unlink(casemate::guest::kInput);
  int started[2] = {-1, -1};
  if (::pipe2(started, O_CLOEXEC) < 0) return kExitFailed;
  const pid_t program = ::fork();
  if (program < 0) return kExitFailed;
  if (program == 0) run_program(argv + 1, started[1]);
  (void)::close(kControl);
  (void)::close(started[1]);
  char failed = 0;
  if (::read(started[0], &failed, 1) != 0) return kExitFailed;  // no program: nothing is told of its end
  (void)::close(started[0]);
  int status = 0;
  for (;;) {
    int ended = 0;
    const pid_t reaped = ::waitpid(-1, &ended, 0);
    if (reaped < 0 && errno != EINTR) return kExitFailed;
    if (reaped != program) continue;
    status = ended;
    break;
  }
  // Nothing is waited for: what is left ends with this process, which is the whole kernel's.
  casemate::guest::tell_end(kept, {{casemate::frame::Tag::kWaitStatus, static_cast<std::uint32_t>(status)}});
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitSignalled + WTERMSIG(status);
}
