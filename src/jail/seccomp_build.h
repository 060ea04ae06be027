// What the tables are written with: rules by their usual shapes, and a table as a finished program.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "jail/seccomp.h"
#include "jail/seccomp_compile.h"

namespace casemate::jail {

constexpr Clause all_of(std::initializer_list<ArgumentTest> tests) {
  Clause clause;
  for (const ArgumentTest& test : tests) clause.tests.at(clause.count++) = test;
  return clause;
}

constexpr std::uint32_t number_of(long number) { return static_cast<std::uint32_t>(number); }

// Allowed when argument `index` is one of the values.
constexpr Rule one_of(long number, std::uint8_t index, std::initializer_list<std::uint32_t> values,
                      int otherwise) {
  Rule rule{number_of(number), otherwise, {}};
  for (const std::uint32_t value : values) rule.allow.push_back(all_of({{index, 0xffffffff, value}}));
  return rule;
}

// Allowed when none of the bits is set in argument `index`.
constexpr Rule without_bits(long number, std::uint8_t index, std::uint32_t bits, int otherwise) {
  return Rule{number_of(number), otherwise, {all_of({{index, bits, 0}})}};
}

// In the place of what the table says of that call.
constexpr void replace(Table& table, const Rule& rule) {
  std::erase_if(table.rules, [&](const Rule& old) { return old.number == rule.number; });
  table.rules.push_back(rule);
}

// Whatever their arguments.
constexpr Table allowing(Table table, std::initializer_list<long> numbers) {
  for (const long number : numbers) replace(table, Rule{number_of(number), 0, {}});
  return table;
}

// What the table says of these calls; nothing of any other.
constexpr Table only(Table table, std::initializer_list<long> numbers) {
  std::erase_if(table.rules, [&](const Rule& rule) {
    return std::ranges::none_of(numbers, [&](long number) { return number_of(number) == rule.number; });
  });
  return table;
}

// A program made by the compiler as an array: first its length, then its instructions. Everything has a name:
// clang 16 takes temporaries in constants for leaks.
template <Table (*make)()>
constexpr std::size_t frozen_size() {
  const Table table = make();
  const std::vector<sock_filter> program = compile(table);
  return program.size();
}
template <Table (*make)()>
constexpr auto frozen() {
  std::array<sock_filter, frozen_size<make>()> out{};
  const Table table = make();
  const std::vector<sock_filter> program = compile(table);
  std::ranges::copy(program, out.begin());
  return out;
}

}  // namespace casemate::jail
