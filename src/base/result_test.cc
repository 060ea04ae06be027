#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace casemate {
namespace {

Result<std::unique_ptr<int>> make(int value) {
  if (value < 0) return fail(ErrorCode::kInvalid, "negative");
  return std::make_unique<int>(value);
}

Result<std::unique_ptr<int>> make_twice(int value) {
  std::unique_ptr<int> made = TRY(make(value));
  *made *= 2;
  return made;
}

Result<void> check_even(int value) {
  if (value % 2 != 0) return fail(ErrorCode::kDenied, "odd");
  return {};
}

Result<int> half(int value) {
  TRY(check_even(value));
  return value / 2;
}

TEST(Try, MovesAValueThatCannotBeCopiedOut) {
  const Result<std::unique_ptr<int>> made = make_twice(21);
  ASSERT_TRUE(made);
  EXPECT_EQ(**made, 42);
}

TEST(Try, PassesTheErrorUpUnchanged) {
  const Result<std::unique_ptr<int>> made = make_twice(-1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(made.error().message, "negative");
}

TEST(Try, WorksWhereThereIsNoValue) {
  EXPECT_EQ(half(8).value(), 4);
  EXPECT_EQ(half(7).error().code, ErrorCode::kDenied);
}

TEST(Try, EvaluatesItsExpressionOnce) {
  int calls = 0;
  const auto count = [&]() -> Result<int> { return ++calls; };
  const auto use = [&]() -> Result<int> { return TRY(count()) + TRY(count()); };
  EXPECT_EQ(use().value(), 3);
  EXPECT_EQ(calls, 2);
}

TEST(FailErrno, KeepsTheNumberAndSaysWhatItMeans) {
  errno = ENOENT;
  const Result<int> result = fail_errno("open /x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kSystem);
  EXPECT_EQ(result.error().errno_value, ENOENT);
  EXPECT_EQ(result.error().message, "open /x: No such file or directory");
}

TEST(FailErrno, TakesANumberThatWasKept) {
  errno = 0;
  const Result<int> result = fail_errno("read", EIO);
  EXPECT_EQ(result.error().errno_value, EIO);
}

TEST(FailWithContext, PutsTheContextInFront) {
  const Result<int> result = fail_with_context(Error{ErrorCode::kSystem, "mount: busy", EBUSY}, "box 7");
  EXPECT_EQ(result.error().message, "box 7: mount: busy");
  EXPECT_EQ(result.error().code, ErrorCode::kSystem);
  EXPECT_EQ(result.error().errno_value, EBUSY);
}

TEST(ErrorCodes, HaveTheNamesThatInterfacesShow) {
  EXPECT_STREQ(error_code_name(ErrorCode::kInvalid), "invalid");
  EXPECT_STREQ(error_code_name(ErrorCode::kNotFound), "not_found");
  EXPECT_STREQ(error_code_name(ErrorCode::kDenied), "denied");
  EXPECT_STREQ(error_code_name(ErrorCode::kExhausted), "exhausted");
  EXPECT_STREQ(error_code_name(ErrorCode::kDeadline), "deadline");
  EXPECT_STREQ(error_code_name(ErrorCode::kCancelled), "cancelled");
  EXPECT_STREQ(error_code_name(ErrorCode::kUnavailable), "unavailable");
  EXPECT_STREQ(error_code_name(ErrorCode::kSystem), "system");
  EXPECT_STREQ(error_code_name(ErrorCode::kInternal), "internal");
}

static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
static_assert(std::is_move_constructible_v<Result<std::unique_ptr<int>>>);

}  // namespace
}  // namespace casemate
