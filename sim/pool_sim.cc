#include <cstdio>

#include "pool_world.h"
#include "seeds.h"

namespace casemate::sim {
namespace {

TEST(PoolSimulation, KeepsItsPromisesWhateverHappens) {
  std::size_t leases = 0;
  std::size_t served = 0;
  for_each_seed(2'000, [&](Random& random) {
    PoolWorld world(random);
    world.chaos(random.span(milliseconds{10'000}, milliseconds{300'000}));
    if (world.calm()) ++served;
    world.finish();
    leases += world.leases();
  });
  // A simulation in which nothing is ever handed out would keep every promise.
  std::printf("%zu leases; all classes served in %zu runs\n", leases, served);
  EXPECT_GT(leases, 0u);
  EXPECT_GT(served, 0u);
}

}  // namespace
}  // namespace casemate::sim
