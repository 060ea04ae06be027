// The compiler of the filters: from a table to classic BPF, at compile time. The warden carries finished
// programs: making them when it starts touched some thirty fresh pages, which every clone then copied.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "jail/seccomp.h"

namespace casemate::jail {
namespace bpf {

inline constexpr std::uint32_t kX32Bit = 0x40000000;

constexpr sock_filter statement(unsigned code, std::uint32_t k) {
  return sock_filter{static_cast<std::uint16_t>(code), 0, 0, k};
}

constexpr sock_filter jump(unsigned code, std::uint32_t k, unsigned if_true, unsigned if_false) {
  CHECK(if_true <= 255 && if_false <= 255);
  return sock_filter{static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
                     static_cast<std::uint8_t>(if_false), k};
}

constexpr std::uint32_t answer_of(int errno_value) {
  return errno_value == 0 ? SECCOMP_RET_ALLOW
                          : SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(errno_value) & SECCOMP_RET_DATA);
}

using Program = std::vector<sock_filter>;

constexpr void append(Program& program, const Program& more) {
  program.insert(program.end(), more.begin(), more.end());
}

// The tests of one clause, and what to answer when all of them hold.
constexpr void append_clause(Program& program, const Clause& clause, std::uint32_t answer) {
  Program tests;
  for (std::size_t i = 0; i < clause.count; ++i) {
    const ArgumentTest& test = clause.tests[i];
    tests.push_back(statement(BPF_LD | BPF_W | BPF_ABS,
                              static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + 8U * test.index));
    if (test.mask != 0xffffffff) tests.push_back(statement(BPF_ALU | BPF_AND | BPF_K, test.mask));
    tests.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, test.value, 0, 0));
  }
  // A test that fails skips the rest of its clause and the clause's answer.
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (BPF_CLASS(tests[i].code) == BPF_JMP) tests[i].jf = static_cast<std::uint8_t>(tests.size() - i);
  }
  append(program, tests);
  program.push_back(statement(BPF_RET | BPF_K, answer));
}

// The code that decides one listed call. It ends in a return on every path.
constexpr Program leaf(const Rule& rule) {
  Program program;
  for (const Clause& clause : rule.refuse) append_clause(program, clause, answer_of(rule.refusal));
  for (const Clause& clause : rule.allow) append_clause(program, clause, SECCOMP_RET_ALLOW);
  program.push_back(statement(BPF_RET | BPF_K, answer_of(rule.otherwise)));
  return program;
}

// A run of numbers, from `first` to the next range's first, that share their code.
struct Range {
  std::uint32_t first = 0;
  Program code;
};

constexpr Program search(std::span<const Range> ranges) {
  if (ranges.size() == 1) return ranges.front().code;
  const std::size_t middle = ranges.size() / 2;
  const Program low = search(ranges.first(middle));
  const Program high = search(ranges.subspan(middle));
  Program program;
  if (low.size() <= 255) {
    program.push_back(
        jump(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first, static_cast<unsigned>(low.size()), 0));
  } else {
    program.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first, 0, 1));
    program.push_back(statement(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(low.size())));
  }
  append(program, low);
  append(program, high);
  return program;
}

constexpr bool same(const Program& a, const Program& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const sock_filter& x, const sock_filter& y) {
    return x.code == y.code && x.jt == y.jt && x.jf == y.jf && x.k == y.k;
  });
}

}  // namespace bpf

// Compiles a table: architecture check, then a binary search over the numbers.
constexpr std::vector<sock_filter> compile(const Table& table) {
  using namespace bpf;
  std::vector<Rule> rules = table.rules;
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.number < b.number; });
  const Program unlisted = {statement(BPF_RET | BPF_K, table.unlisted)};
  std::vector<Range> ranges;
  const auto add = [&](std::uint32_t first, Program code) {
    if (!ranges.empty() && same(ranges.back().code, code)) return;
    ranges.push_back(Range{first, std::move(code)});
  };
  std::uint32_t next = 0;
  for (const Rule& rule : rules) {
    CHECK(rule.number >= next && rule.number < kX32Bit);  // a number is listed once
    if (rule.number > next) add(next, unlisted);
    add(rule.number, leaf(rule));
    next = rule.number + 1;
  }
  add(next, unlisted);  // the x32 bit and everything above as well

  Program program = {
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      jump(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  append(program, search(ranges));
  CHECK(program.size() <= BPF_MAXINSNS);
  return program;
}

}  // namespace casemate::jail
