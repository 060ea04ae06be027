#include "http_server/answer.h"

#include <gtest/gtest.h>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

TEST(Problem, EachCodeHasItsStatus) {
  const std::vector<std::pair<ErrorCode, int>> table = {
      {ErrorCode::kInvalid, 400},   {ErrorCode::kNotFound, 404},    {ErrorCode::kDenied, 403},
      {ErrorCode::kExhausted, 429}, {ErrorCode::kDeadline, 504},    {ErrorCode::kCancelled, 409},
      {ErrorCode::kSystem, 500},    {ErrorCode::kUnavailable, 503}, {ErrorCode::kInternal, 500},
  };
  for (const auto& [code, status] : table) {
    const Answer answer = problem_of(Error{code, "why", 0});
    EXPECT_EQ(answer.status, status);
    EXPECT_NE(answer.body.find(std::string("\"code\":\"") + error_code_name(code) + "\""), std::string::npos);
    EXPECT_EQ(find_value(answer.fields, "Retry-After") != nullptr, status == 429 || status == 503) << status;
    EXPECT_TRUE(check_answer(answer));
  }
}

TEST(Problem, RetryAfterIsRoundedUp) {
  const Answer answer = problem_of(Error{ErrorCode::kExhausted, "queue_full", 0}, milliseconds(1001));
  EXPECT_EQ(*find_value(answer.fields, "Retry-After"), "2");
  EXPECT_NE(answer.body.find("\"retry_after_ms\":1001"), std::string::npos);
  EXPECT_EQ(
      *find_value(problem_of(Error{ErrorCode::kExhausted, "", 0}, milliseconds(0)).fields, "Retry-After"),
      "1");
}

// What the kernel or a bug says of us is not the client's.
TEST(Problem, OurOwnFaultsAreKeptBack) {
  for (const ErrorCode code : {ErrorCode::kSystem, ErrorCode::kInternal})
    EXPECT_EQ(problem_of(Error{code, "open /var/lib/casemate/secret", 0}).body.find("/var"),
              std::string::npos);
}

TEST(Problem, DetailIsOneBoundedLine) {
  const Answer answer = problem_of(Error{ErrorCode::kInvalid, "a\r\nb\x1b[31m" + std::string(5000, 'x'), 0});
  EXPECT_LT(answer.body.size(), kProblemDetailMax + 300);
  EXPECT_EQ(answer.body.find('\x1b'), std::string::npos);
  EXPECT_EQ(answer.body.find('\n'), std::string::npos);
}

TEST(CheckAnswer, WhatWouldSplitOrFrameAnAnswerIsABug) {
  for (const Field& field : std::vector<Field>{{"X", "a\r\nSet-Cookie: b"},
                                               {"X", std::string("a\0b", 3)},
                                               {"X", "\xc3\xa9"},
                                               {"X Y", "a"},
                                               {"", "a"},
                                               {"X:", "a"},
                                               {"content-length", "5"},
                                               {"Transfer-Encoding", "chunked"},
                                               {"Connection", "keep-alive"},
                                               {"Date", "now"}}) {
    Answer answer;
    answer.fields.push_back(field);
    EXPECT_FALSE(check_answer(answer)) << field.name;
  }
  for (const int status : {0, 100, 101, 199, 600}) {
    Answer answer;
    answer.status = status;
    EXPECT_FALSE(check_answer(answer)) << status;
  }
  Answer many;
  many.fields.assign(kAnswerFieldsMax, {"X", "y"});
  EXPECT_TRUE(check_answer(many));
  many.fields.push_back({"X", "y"});
  EXPECT_FALSE(check_answer(many));
}

TEST(HttpDate, IsTheFormOfRfc9110) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(1709164799), "Wed, 28 Feb 2024 23:59:59 GMT");
  EXPECT_EQ(http_date(1709164800), "Thu, 29 Feb 2024 00:00:00 GMT");
}

}  // namespace
}  // namespace casemate::http_server
