#include "base/bytes.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace casemate {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 13> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"K", 1024},
                                          {"KiB", 1024},
                                          {"kB", 1e3},
                                          {"KB", 1e3},
                                          {"M", 1048576.0},
                                          {"MiB", 1048576.0},
                                          {"MB", 1e6},
                                          {"G", 1073741824.0},
                                          {"GiB", 1073741824.0},
                                          {"GB", 1e9},
                                          {"TiB", 1099511627776.0}}};

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text) + "' is not an amount of bytes; write it as 512MiB, 64KiB or 4096");
  };
  double number = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [after, error] = std::from_chars(begin, end, number, std::chars_format::fixed);
  if (error != std::errc{} || after == begin || !std::isfinite(number) || number < 0) return bad();
  std::string_view rest(after, static_cast<std::size_t>(end - after));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name != rest) continue;
    const double bytes = number * unit.factor;
    if (bytes > 4611686018427387904.0) return bad();
    return Bytes{static_cast<std::uint64_t>(bytes)};
  }
  return bad();
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> buffer{};
  const bool whole = value == std::floor(value) || unit == 0;
  std::snprintf(buffer.data(), buffer.size(), whole ? "%.0f %s" : "%.1f %s", value, kNames[unit]);
  return buffer.data();
}

}  // namespace casemate
