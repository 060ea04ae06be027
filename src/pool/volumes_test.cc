#include "pool/volumes.h"

#include <gtest/gtest.h>

namespace casemate::pool {
namespace {

TEST(DestroyedVolumes, ForgetsTheOldestBeyondItsBound) {
  DestroyedVolumes volumes(3);
  for (const char* volume : {"a", "b", "c"}) volumes.add(volume);
  EXPECT_TRUE(volumes.holds("a"));
  volumes.add("d");
  EXPECT_FALSE(volumes.holds("a"));
  for (const char* volume : {"b", "c", "d"}) EXPECT_TRUE(volumes.holds(volume));
  EXPECT_EQ(volumes.size(), 3u);
}

TEST(DestroyedVolumes, CountsOneOnce) {
  DestroyedVolumes volumes(2);
  for (const char* volume : {"a", "b", "b", "b"}) volumes.add(volume);
  EXPECT_TRUE(volumes.holds("a"));
  EXPECT_EQ(volumes.size(), 2u);
}

}  // namespace
}  // namespace casemate::pool
