#include "pool/backoff.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace casemate::pool {
namespace {

constexpr Instant kStart = Instant{} + std::chrono::hours{1};

TEST(Backoff, DoublesUpToItsBound) {
  Backoff backoff(milliseconds{100}, milliseconds{1000});
  EXPECT_FALSE(backoff.waiting(kStart));
  for (const int wait : {100, 200, 400, 800, 1000, 1000}) {
    backoff.failed("no", kStart);
    EXPECT_EQ(backoff.retry_at() - kStart, milliseconds{wait});
    EXPECT_TRUE(backoff.waiting(kStart + milliseconds{wait - 1}));
    EXPECT_FALSE(backoff.waiting(kStart + milliseconds{wait}));
  }
  for (int i = 0; i < 1000; ++i) backoff.failed("no", kStart);
  EXPECT_EQ(backoff.retry_at() - kStart, milliseconds{1000});
}

TEST(Backoff, BeginsAgainAfterASuccess) {
  Backoff backoff(milliseconds{100}, milliseconds{1000});
  backoff.failed("no", kStart);
  backoff.failed("no", kStart);
  backoff.succeeded();
  EXPECT_FALSE(backoff.waiting(kStart));
  EXPECT_EQ(backoff.reason(), "");
  backoff.failed("again", kStart);
  EXPECT_EQ(backoff.retry_at() - kStart, milliseconds{100});
  EXPECT_EQ(backoff.reason(), "again");
}

TEST(Backoff, CutsALongReason) {
  Backoff backoff(milliseconds{1}, milliseconds{1});
  backoff.failed(std::string(kPoolReasonMax + 1, 'x'), kStart);
  EXPECT_EQ(backoff.reason().size(), kPoolReasonMax);
}

}  // namespace
}  // namespace casemate::pool
