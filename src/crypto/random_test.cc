#include "crypto/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "crypto/digest.h"

namespace casemate::crypto {
namespace {

TEST(Random, FillsEveryByte) {
  // 4096 bytes are more than one getrandom(2) promises at once; a byte that stays zero in all of
  // 16 tries would be one in 2^128.
  std::array<std::uint8_t, 4096> seen{};
  for (int round = 0; round < 16; ++round) {
    std::array<std::uint8_t, 4096> bytes{};
    fill_random(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) seen[i] |= bytes[i];
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](std::uint8_t byte) { return byte != 0; }));
}

TEST(Random, IdsAreHexAndNeverRepeat) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(random_id());
  EXPECT_EQ(ids.size(), 1000U);
  for (const std::string& id : ids) EXPECT_TRUE(is_lower_hex(id, 32)) << id;
  EXPECT_EQ(random_hex(0), "");
  EXPECT_EQ(random_hex(3).size(), 6U);
}

}  // namespace
}  // namespace casemate::crypto
