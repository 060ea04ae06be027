#include "base/near_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace casemate {
namespace {

std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == '.') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

// The optimal string alignment distance: swapping neighbours is one step.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kNearNameMax + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string_view> names,
                                    std::size_t most) {
  std::vector<std::pair<std::size_t, std::string_view>> near;
  if (wanted.size() > kNearNameMax) return {};
  const std::string like = folded(wanted);
  const std::size_t errors_max = std::max<std::size_t>(1, like.size() / 3);
  for (const std::string_view name : names) {
    if (name.size() > kNearNameMax || name == wanted) continue;
    const std::string other = folded(name);
    if (other.empty() ||
        std::max(like.size(), other.size()) - std::min(like.size(), other.size()) > errors_max)
      continue;
    const std::size_t errors = distance(like, other);
    // A name that shares nothing with this one is not near, however short both are.
    if (errors <= errors_max && errors < std::max(like.size(), other.size())) near.emplace_back(errors, name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> found;
  for (const auto& [errors, name] : near) {
    if (found.size() == most || errors > near.front().first + 1) break;
    found.emplace_back(name);
  }
  return found;
}

}  // namespace casemate
