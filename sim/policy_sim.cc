#include <cstdio>

#include "policy_world.h"
#include "seeds.h"

namespace casemate::sim {
namespace {

TEST(PolicySimulation, NoSendIsJudgedWithoutTheLabelsOfWhatWasDeliveredBefore) {
  std::size_t admitted = 0;
  std::size_t asked = 0;
  std::size_t denied = 0;
  std::size_t held_back = 0;
  for_each_seed(5'000, [&](Random& random) {
    PolicyWorld world(random);
    for (std::size_t steps = random.between(1, 60); steps > 0; --steps) world.step();
    admitted += world.admitted();
    asked += world.asked();
    denied += world.denied();
    held_back += world.held_back();
  });
  // A simulation in which nothing leaves, or nothing is held back, would show nothing.
  std::printf("%zu admitted, %zu asked, %zu denied, %zu held back by a label\n", admitted, asked, denied,
              held_back);
  EXPECT_GT(admitted, 10'000U);
  EXPECT_GT(asked, 1'000U);
  EXPECT_GT(denied, 1'000U);
  EXPECT_GT(held_back, 1'000U);
}

}  // namespace
}  // namespace casemate::sim
