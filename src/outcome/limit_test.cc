#include "outcome/limit.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/limits.h"

namespace casemate::outcome {
namespace {

TEST(Limit, EachLimitHasAUnitAndOneSentenceOfAdvice) {
  EXPECT_EQ(limit_amount(LimitName::kWall, 30000), "30 s");
  EXPECT_EQ(limit_amount(LimitName::kWall, 1250), "1.2 s");
  EXPECT_EQ(limit_amount(LimitName::kCpuTime, 250), "250 ms");
  EXPECT_EQ(limit_amount(LimitName::kCpuTime, 0), "0 s");
  EXPECT_EQ(limit_amount(LimitName::kMemory, 512u << 20), "512 MiB");
  EXPECT_EQ(limit_amount(LimitName::kPids, 128), "128 processes");
  EXPECT_EQ(limit_amount(LimitName::kInodes, 1), "1 file");
  std::set<std::string> names;
  for (std::size_t i = 0; i < kLimitCount; ++i) {
    const auto name = static_cast<LimitName>(i);
    names.insert(limit_name(name));
    const std::string advice = limit_advice(name);
    EXPECT_TRUE(advice.ends_with('.')) << advice;
    EXPECT_EQ(advice.find(". "), std::string::npos) << advice;
  }
  EXPECT_EQ(names.size(), kLimitCount);
}

TEST(Limit, CeilingsComeFromTheEffectiveLimits) {
  LimitValues limits;
  for (std::size_t i = 0; i < kLimitCount; ++i) EXPECT_EQ(ceiling_of(limits, static_cast<LimitName>(i)), 0u);
  limits = {.wall_ms = 1,
            .cpu_time_ms = 2,
            .memory_bytes = 3,
            .output_bytes = 4,
            .disk_bytes = 5,
            .inodes = 6,
            .file_size_bytes = 7,
            .pids = 8,
            .open_files = 9,
            .cpus = {}};
  EXPECT_EQ(ceiling_of(limits, LimitName::kWall), 1u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kCpuTime), 2u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kMemory), 3u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kOutput), 4 * kOutputEndFactor);
  EXPECT_EQ(ceiling_of(limits, LimitName::kDisk), 5u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kInodes), 6u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kFileSize), 7u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kPids), 8u);
  EXPECT_EQ(ceiling_of(limits, LimitName::kOpenFiles), 9u);
  limits.output_bytes = ~std::uint64_t{0};
  EXPECT_EQ(ceiling_of(limits, LimitName::kOutput), ~std::uint64_t{0});
}

}  // namespace
}  // namespace casemate::outcome
