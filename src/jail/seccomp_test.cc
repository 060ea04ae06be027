// The compiler of the filters: what it makes of a table answers as the table says, for every number, in
// user space and in the kernel. What the tables say is in seccomp_tables_test.cc.
#include "jail/seccomp.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>

#include "jail/seccomp_compile.h"

namespace casemate::jail {
namespace {

using Arguments = std::array<std::uint64_t, 6>;

constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kX32 = 0x40000000;

struct Compiled {
  Table table;
  std::span<const sock_filter> program;
};
std::vector<Compiled> tables() {
  return {{box_table(), box_program()}, {init_table(), init_program()}, {runtime_table(), runtime_program()}};
}

// What the table says, read without any cleverness.
std::uint32_t naive(const Table& table, std::uint32_t arch, std::uint32_t number,
                    const Arguments& arguments) {
  if (arch != kArch) return SECCOMP_RET_KILL_PROCESS;
  const auto holds = [&](const Clause& clause) {
    return std::all_of(clause.tests.begin(), clause.tests.begin() + static_cast<std::ptrdiff_t>(clause.count),
                       [&](const ArgumentTest& test) {
                         return (static_cast<std::uint32_t>(arguments.at(test.index)) & test.mask) ==
                                test.value;
                       });
  };
  for (const Rule& rule : table.rules) {
    if (rule.number != number) continue;
    for (const Clause& clause : rule.refuse) {
      if (holds(clause)) return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(rule.refusal);
    }
    for (const Clause& clause : rule.allow) {
      if (holds(clause)) return SECCOMP_RET_ALLOW;
    }
    if (rule.otherwise == 0) return SECCOMP_RET_ALLOW;
    return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(rule.otherwise);
  }
  return table.unlisted;
}

// Arguments that a rule could be about: its own values, values near them, and noise.
Arguments arguments_near(const Table& table, std::uint32_t number, std::mt19937_64& random) {
  Arguments arguments{};
  for (std::uint64_t& value : arguments) value = random() >> (random() % 64);
  const auto rule = std::find_if(table.rules.begin(), table.rules.end(),
                                 [&](const Rule& one) { return one.number == number; });
  if (rule == table.rules.end()) return arguments;
  std::vector<Clause> clauses = rule->allow;
  clauses.insert(clauses.end(), rule->refuse.begin(), rule->refuse.end());
  if (clauses.empty()) return arguments;
  const Clause& clause = clauses.at(random() % clauses.size());
  for (std::size_t i = 0; i < clause.count; ++i) {
    const ArgumentTest& test = clause.tests.at(i);
    std::uint64_t value = test.value;
    if (random() % 4 == 0) value ^= std::uint64_t{1} << (random() % 32);
    if (random() % 4 == 0) value |= random() << 32;
    if (random() % 8 == 0) value = random();
    arguments.at(test.index) = value;
  }
  return arguments;
}

void expect_same(const Table& table, std::span<const sock_filter> program, std::uint32_t number,
                 const Arguments& arguments) {
  ASSERT_EQ(evaluate(program, kArch, number, arguments), naive(table, kArch, number, arguments))
      << "number " << number << " arguments " << arguments[0] << ' ' << arguments[1] << ' ' << arguments[2]
      << ' ' << arguments[3];
}

TEST(Seccomp, EveryNumberAnswersAsTheTableSays) {
  constexpr std::uint64_t kSeed = 20'240'511;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (const auto& [table, program] : tables()) {
    for (std::uint32_t number = 0; number < 1024; ++number) {
      for (int round = 0; round < 100; ++round) {
        expect_same(table, program, number, arguments_near(table, number, random));
        if (HasFatalFailure()) return;
      }
    }
    for (int round = 0; round < 50'000; ++round) {
      expect_same(table, program, static_cast<std::uint32_t>(random()), {});
      if (HasFatalFailure()) return;
    }
    for (const std::uint32_t number : {1024U, kX32 - 1, kX32, kX32 + 1, 0x7fffffffU, 0x80000000U, ~0U}) {
      expect_same(table, program, number, {});
    }
  }
}

TEST(Seccomp, NoNumberIsListedTwice) {
  for (const Table& table : {box_table(), init_table()}) {
    std::set<std::uint32_t> seen;
    for (const Rule& rule : table.rules) {
      EXPECT_TRUE(seen.insert(rule.number).second) << "number " << rule.number << " is listed twice";
    }
  }
}

TEST(SeccompDeathTest, ATableThatListsANumberTwiceDoesNotCompile) {
  Table table;
  table.rules = {Rule{7, 0, {}}, Rule{3, 0, {}}, Rule{7, EPERM, {}}};
  EXPECT_DEATH((void)compile(table), "rule.number >= next");
}

TEST(Seccomp, ProgramsFitAndEveryJumpStaysInside) {
  for (const auto& [table, program] : tables()) {
    EXPECT_LT(program.size(), std::size_t{BPF_MAXINSNS});
    for (std::size_t at = 0; at < program.size(); ++at) {
      const sock_filter& step = program[at];
      if (BPF_CLASS(step.code) != BPF_JMP) continue;
      const std::size_t farthest =
          at + 1 + (BPF_OP(step.code) == BPF_JA ? step.k : std::max(step.jt, step.jf));
      EXPECT_LT(farthest, program.size()) << "at " << at;
    }
    EXPECT_EQ(BPF_CLASS(program.back().code), BPF_RET);
  }
}

TEST(Seccomp, AnotherArchitectureIsKilled) {
  for (const auto& [table, program] : tables()) {
    for (const std::uint32_t arch : {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_AARCH64},
                                     kArch & ~std::uint32_t{__AUDIT_ARCH_64BIT}, 0U, ~0U}) {
      for (const std::uint32_t number : {0U, 1U, 39U, 60U, 102U /* i386 socketcall */, 231U, 999U}) {
        EXPECT_EQ(evaluate(program, arch, number, {}), SECCOMP_RET_KILL_PROCESS) << arch << ' ' << number;
      }
    }
  }
}

TEST(Seccomp, X32NumbersAreRefused) {
  const std::span<const sock_filter> init = init_program();
  for (std::uint32_t number = 0; number < 1024; ++number) {
    EXPECT_EQ(evaluate(box_program(), kArch, kX32 | number, {}), SECCOMP_RET_ERRNO | ENOSYS) << number;
    EXPECT_EQ(evaluate(init, kArch, kX32 | number, {}), SECCOMP_RET_KILL_PROCESS) << number;
  }
}

TEST(Seccomp, TheInitIsKilledForAllButItsFewCalls) {
  const std::span<const sock_filter> program = init_program();
  const std::set<std::uint32_t> kept = {SYS_read, SYS_poll,       SYS_wait4,        SYS_sendmsg,
                                        SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall,
                                        SYS_kill};
  for (std::uint32_t number = 0; number < 1024; ++number) {
    EXPECT_EQ(evaluate(program, kArch, number, {}),
              kept.contains(number) ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS)
        << number;
  }
  // It asks whether anybody is left and signals nobody.
  for (std::uint64_t signal = 1; signal <= 64; ++signal) {
    EXPECT_EQ(evaluate(program, kArch, SYS_kill, {~std::uint64_t{0}, signal}), SECCOMP_RET_ERRNO | EPERM);
  }
}

// In a child, which answers with the number of the first call that did not go as it should.
int try_on_the_kernel() {
  const std::span<const sock_filter> program = box_program();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (install(program) != 0) {
    return 2;
  }
  if (::syscall(SYS_getppid) <= 0) return 3;
  if (::syscall(SYS_ptrace, 0, 0, 0, 0) != -1 || errno != EPERM) return 4;
  if (::syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0) != -1 || errno != EAFNOSUPPORT) return 5;
  if (::syscall(SYS_clone3, nullptr, 0) != -1 || errno != ENOSYS) return 6;
  if (::syscall(SYS_ioctl, 0, 0x100005412, 0) != -1 || errno != ENOTTY) return 7;
  if (::syscall(kX32 | SYS_getppid) != -1 || errno != ENOSYS) return 8;
  return 0;
}

TEST(Seccomp, TheKernelTakesTheProgramAndAnswersTheSame) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) ::_exit(try_on_the_kernel());
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The init's filter ends it for a call that it does not need.
TEST(Seccomp, TheKernelKillsTheInitForAnotherCall) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const std::span<const sock_filter> program = init_program();
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (install(program) != 0) ::_exit(1);
    (void)::syscall(SYS_getppid);
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST(Seccomp, AZygoteMayEnterSlotsAndOtherwiseNoMoreThanABox) {
  const auto answer = [](std::span<const sock_filter> program, long number) {
    return evaluate(program, AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), {});
  };
  for (const long number : {SYS_setns, SYS_unshare, SYS_prctl, SYS_seccomp, SYS_execve, SYS_fork})
    EXPECT_EQ(answer(zygote_program(), number), SECCOMP_RET_ALLOW) << number;
  for (const long number :
       {SYS_mount, SYS_ptrace, SYS_bpf, SYS_pivot_root, SYS_chroot, SYS_kexec_load, SYS_init_module})
    EXPECT_NE(answer(zygote_program(), number), SECCOMP_RET_ALLOW) << number;
}

TEST(Seccomp, ANestsInitIsKilledForWhatItsWorkDoesNotNeed) {
  const auto answer = [](long number) {
    return evaluate(nest_program(), AUDIT_ARCH_X86_64, static_cast<std::uint32_t>(number), {});
  };
  for (const long number : {SYS_clone3, SYS_mount, SYS_pivot_root, SYS_sendmsg, SYS_wait4})
    EXPECT_EQ(answer(number), SECCOMP_RET_ALLOW) << number;
  for (const long number :
       {SYS_execve, SYS_execveat, SYS_ptrace, SYS_bpf, SYS_setns, SYS_connect, SYS_mknodat})
    EXPECT_EQ(answer(number), SECCOMP_RET_KILL_PROCESS) << number;
}

}  // namespace
}  // namespace casemate::jail
