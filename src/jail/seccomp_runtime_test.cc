#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <set>

#include "jail/seccomp.h"

namespace casemate::jail {
namespace {

TEST(Seccomp, ARuntimeMayWhatABoxMayAndTheseCalls) {
  const std::set<long> more = {SYS_clone,   SYS_unshare, SYS_ptrace,      SYS_mount,
                               SYS_umount2, SYS_chroot,  SYS_pivot_root,  SYS_prctl,
                               SYS_capset,  SYS_seccomp, SYS_memfd_create};
  for (std::uint32_t number = 0; number < 1024; ++number) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{CLONE_NEWUSER}, ~std::uint64_t{0}}) {
      for (std::size_t at = 0; at < 6; ++at) {
        std::array<std::uint64_t, 6> arguments{};
        arguments.at(at) = value;
        const std::uint32_t boxes = evaluate(box_program(), AUDIT_ARCH_X86_64, number, arguments);
        const std::uint32_t runtimes = evaluate(runtime_program(), AUDIT_ARCH_X86_64, number, arguments);
        if (more.contains(number)) {
          EXPECT_EQ(runtimes, std::uint32_t{SECCOMP_RET_ALLOW}) << number;
        } else {
          EXPECT_EQ(runtimes, boxes) << number;
        }
      }
    }
  }
}

}  // namespace
}  // namespace casemate::jail
