// What a zygote has imported before it forks, smallest first. A larger set holds all of a smaller one.
#pragma once

#include <array>
#include <cstddef>

namespace casemate::pool {

enum class PreloadSet { kBare, kNumpy, kPandas };
inline constexpr std::array kPreloadSets = {PreloadSet::kBare, PreloadSet::kNumpy, PreloadSet::kPandas};

// "bare", "numpy", "pandas".
constexpr const char* preload_name(PreloadSet set) {
  switch (set) {
    case PreloadSet::kBare: return "bare";
    case PreloadSet::kNumpy: return "numpy";
    case PreloadSet::kPandas: return "pandas";
  }
  return "?";
}
constexpr std::size_t preload_index(PreloadSet set) { return static_cast<std::size_t>(set); }

}  // namespace casemate::pool
