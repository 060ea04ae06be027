// The system-call tables: what a box may ask of the kernel, and the errno that the rest gets.
//
// The table is compiled to classic BPF by us and not by libseccomp, for two reasons: an entry with
// conditions on arguments needs an "else" with an errno of its own (a refused socket family is
// EAFNOSUPPORT, a refused mode is EPERM), which libseccomp can only say by listing the complement;
// and the warden, which is read in an afternoon, links nothing but us.
//
// A number that the table does not name, a newer kernel's call included, gets ENOSYS, so that
// programs fall back as they do on an older kernel. A call through another architecture's entry
// (int 0x80) kills the process.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace casemate::jail {

// Holds when (low 32 bits of argument `index` & mask) == value. Only the low word is looked at,
// because the kernel does the same for every argument that the table tests: a test of 64 bits would
// let a caller past a deny rule by setting a bit that the kernel ignores.
struct ArgumentTest {
  std::uint8_t index = 0;
  std::uint32_t mask = 0xffffffff;
  std::uint32_t value = 0;
};

// All tests of a clause must hold.
struct Clause {
  std::array<ArgumentTest, 3> tests{};
  std::size_t count = 0;
};

// One system call. It is refused when a clause of `refuse` holds, else allowed when one of `allow`
// holds, else `otherwise`.
struct Rule {
  std::uint32_t number = 0;
  int otherwise = 0;  // 0 allow, else the errno
  std::vector<Clause> allow{};
  std::vector<Clause> refuse{};
  int refusal = 0;  // the errno
};

struct Table {
  std::vector<Rule> rules;     // any order; a number at most once
  std::uint32_t unlisted = 0;  // seccomp return value for numbers that no rule names
};

// The table of a box: isolation by the kernel's own rules.
Table box_table();
// The table of the nest's init after the guest has started: wait, report, exit. Anything else kills.
Table init_table();

// The table of a stronger rung's runtime: that of a box, and what it needs to make one in turn.
Table runtime_table();

// The table of a microvm's launcher and of QEMU: a third of that of a box, and nothing that it has not.
Table machine_table();

// The tables as programs, made by seccomp_compile.h when this library was compiled. Static.
std::span<const sock_filter> box_program();
std::span<const sock_filter> init_program();
std::span<const sock_filter> runtime_program();
std::span<const sock_filter> machine_program();
// Of a zygote, and of the init of a nest that has one.
std::span<const sock_filter> zygote_program();
std::span<const sock_filter> nest_program();

// What a program answers for a call: used by tests, which ask about every number and argument
// without a kernel. The seccomp return value (SECCOMP_RET_*, errno in its low half).
std::uint32_t evaluate(std::span<const sock_filter> program, std::uint32_t arch, std::uint32_t number,
                       const std::array<std::uint64_t, 6>& arguments);

// Installs a program on the calling process. 0, or the errno. After no_new_privs.
int install(std::span<const sock_filter> program);

}  // namespace casemate::jail
