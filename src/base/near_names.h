// Which of the names that there are was meant by one that there is not.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

// Longer names are not compared.
inline constexpr std::size_t kNearNameMax = 64;

// Up to `most` of `names` that are nearly `wanted`, the nearest first and in the order of the alphabet where
// they are equally near: one typing error for each three characters, at least one (a character put in, left
// out, replaced or swapped with its neighbour; case does not count, nor do "_", "-" and "."), and at most one
// more than the nearest needs. Never `wanted` itself. Pure. Takes time for each name as long as `wanted` and
// the name are about equally long.
std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string_view> names,
                                    std::size_t most);

}  // namespace casemate
