#include "jail/seccomp.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/check.h"

namespace casemate::jail {

std::uint32_t evaluate(std::span<const sock_filter> program, std::uint32_t arch, std::uint32_t number,
                       const std::array<std::uint64_t, 6>& arguments) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (step.k == offsetof(seccomp_data, nr)) {
          accumulator = number;
        } else if (step.k == offsetof(seccomp_data, arch)) {
          accumulator = arch;
        } else {
          accumulator = static_cast<std::uint32_t>(arguments.at((step.k - offsetof(seccomp_data, args)) / 8));
        }
        break;
      case BPF_ALU | BPF_AND | BPF_K: accumulator &= step.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: at += accumulator == step.k ? step.jt : step.jf; break;
      case BPF_JMP | BPF_JGE | BPF_K: at += accumulator >= step.k ? step.jt : step.jf; break;
      case BPF_JMP | BPF_JA: at += step.k; break;
      case BPF_RET | BPF_K: return step.k;
      default: CHECK(step.code == BPF_RET);  // false: an instruction that compile() does not emit
    }
  }
  CHECK(program.empty());  // false: a program that does not end in a return
  return SECCOMP_RET_KILL_PROCESS;
}

int install(std::span<const sock_filter> program) {
  // The kernel only reads it.
  const sock_fprog given{static_cast<unsigned short>(program.size()),
                         const_cast<sock_filter*>(program.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &given) < 0) return errno;
  return 0;
}

}  // namespace casemate::jail
