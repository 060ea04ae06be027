// Amounts of memory and disk with their unit in the type.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace casemate {

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes kib(std::uint64_t n) { return Bytes{n << 10}; }
constexpr Bytes mib(std::uint64_t n) { return Bytes{n << 20}; }
constexpr Bytes gib(std::uint64_t n) { return Bytes{n << 30}; }

// "512MiB", "64 KiB", "4096" (bytes), "1.5GiB", "200MB" (powers of ten for kB, MB, GB).
// Errors: invalid (no number, unknown unit, negative, more than 2^62 bytes).
Result<Bytes> parse_bytes(std::string_view text);

// The largest binary unit in which the amount is exact to one decimal: "512 MiB", "1.5 GiB", "700 B".
std::string format_bytes(Bytes bytes);

}  // namespace casemate
