#include "box/spec.h"

#include <gtest/gtest.h>

#include <functional>

namespace casemate::box {
namespace {

constexpr Machine kMachine{gib(8), 4, 4096};

struct Edge {
  const char* name;  // what the message must name
  std::function<void(Limits&)> last_good;
  std::function<void(Limits&)> first_bad;
};

// Every limit at its bound and one past it.
const Edge kEdges[] = {
    {"wall", [](Limits& l) { l.wall = milliseconds{1}; }, [](Limits& l) { l.wall = milliseconds{0}; }},
    {"wall", [](Limits& l) { l.wall = milliseconds{86'400'000}; },
     [](Limits& l) { l.wall = milliseconds{86'400'001}; }},
    {"wall", [](Limits& l) { l.wall = milliseconds{30'000}; }, [](Limits& l) { l.wall = milliseconds{-1}; }},
    {"cpu-time", [](Limits& l) { l.cpu_time = milliseconds{1}; },
     [](Limits& l) { l.cpu_time = milliseconds{0}; }},
    {"cpu-time", [](Limits& l) { l.cpu_time = milliseconds{86'400'000}; },
     [](Limits& l) { l.cpu_time = milliseconds{86'400'001}; }},
    {"memory", [](Limits& l) { l.memory = mib(16); }, [](Limits& l) { l.memory.count = mib(16).count - 1; }},
    {"memory", [](Limits& l) { l.memory = gib(8); }, [](Limits& l) { l.memory.count = gib(8).count + 1; }},
    {"cpus", [](Limits& l) { l.cpus_milli = 10; }, [](Limits& l) { l.cpus_milli = 9; }},
    {"cpus", [](Limits& l) { l.cpus_milli = 4000; }, [](Limits& l) { l.cpus_milli = 4001; }},
    {"disk", [](Limits& l) { l.disk = kib(256); }, [](Limits& l) { l.disk.count = kib(256).count - 1; }},
    {"disk", [](Limits& l) { l.disk = gib(8); }, [](Limits& l) { l.disk.count = gib(8).count + 1; }},
    {"pids", [](Limits& l) { l.pids = 1; }, [](Limits& l) { l.pids = 0; }},
    {"pids", [](Limits& l) { l.pids = 32'768; }, [](Limits& l) { l.pids = 32'769; }},
    {"open-files", [](Limits& l) { l.open_files = 16; }, [](Limits& l) { l.open_files = 15; }},
    {"open-files", [](Limits& l) { l.open_files = 4096; }, [](Limits& l) { l.open_files = 4097; }},
    {"output", [](Limits& l) { l.output = Bytes{64}; }, [](Limits& l) { l.output = Bytes{63}; }},
    {"output", [](Limits& l) { l.output = mib(64); }, [](Limits& l) { l.output.count = mib(64).count + 1; }},
    {"inodes", [](Limits& l) { l.inodes = 64; }, [](Limits& l) { l.inodes = 63; }},
};

TEST(CheckLimits, TakesTheDefaults) { EXPECT_TRUE(check_limits(Limits{}, kMachine)); }

TEST(CheckLimits, TakesABoundAndRefusesWhatIsPastIt) {
  for (const Edge& edge : kEdges) {
    Limits good;
    edge.last_good(good);
    EXPECT_TRUE(check_limits(good, kMachine)) << edge.name;
    Limits bad;
    edge.first_bad(bad);
    const auto refused = check_limits(bad, kMachine);
    ASSERT_FALSE(refused) << edge.name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(refused.error().message.starts_with(std::string("the ") + edge.name + " limit "))
        << refused.error().message;
  }
}

TEST(CheckLimits, RefusesTheLargestNumbersThatThereAre) {
  Limits limits;
  limits.memory = Bytes{~std::uint64_t{0}};
  EXPECT_FALSE(check_limits(limits, kMachine));
  limits = {};
  limits.cpus_milli = ~std::uint32_t{0};
  EXPECT_FALSE(check_limits(limits, kMachine));
  limits = {};
  limits.wall = milliseconds::max();
  EXPECT_FALSE(check_limits(limits, kMachine));
}

TEST(CheckLimits, ASmallMachineRefusesTheDefaults) {
  const auto refused = check_limits(Limits{}, Machine{mib(256), 1, 1024});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("this machine has"), std::string::npos) << refused.error().message;
}

TEST(ThisMachine, IsMeasured) {
  const Machine machine = this_machine();
  EXPECT_GT(machine.memory, mib(64));
  EXPECT_GE(machine.cpus, 1U);
  EXPECT_GE(machine.open_files, 16U);
}

}  // namespace
}  // namespace casemate::box
