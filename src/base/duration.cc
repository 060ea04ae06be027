#include "base/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace casemate {

Result<milliseconds> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60'000}, {"h", 3'600'000}}};
  double number = 0;
  const auto [after, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(after - text.data()));
  for (const Unit& known : kUnits) {
    if (error != std::errc{} || !std::isfinite(number) || number < 0 || known.name != unit) continue;
    const double ms = number * known.ms;
    if (ms > 1e12) break;
    return milliseconds(static_cast<std::int64_t>(ms));
  }
  return fail(ErrorCode::kInvalid,
              "'" + std::string(text) + "' is not a span of time; write it as 30s, 500ms or 2m");
}

std::string format_duration(milliseconds span) {
  std::array<char, 32> buffer{};
  if (span.count() < 1000) {
    std::snprintf(buffer.data(), buffer.size(), "%lld ms", static_cast<long long>(span.count()));
  } else {
    const double seconds = static_cast<double>(span.count()) / 1000;
    std::snprintf(buffer.data(), buffer.size(), seconds == std::floor(seconds) ? "%.0f s" : "%.1f s",
                  seconds);
  }
  return buffer.data();
}

}  // namespace casemate
