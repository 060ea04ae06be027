#include "connect/exec_protocol.h"

#include <gtest/gtest.h>

namespace casemate::connect {
namespace {

using Kind = bridge::ConnectorAnswer::Kind;

TEST(ExecProtocol, ALineSaysAllOfACallAndHasOneEnd) {
  bridge::ConnectorCall call;
  call.capability = "a.b";
  call.run = "r";
  call.idempotency_key = "r-1";
  call.arguments = "{\"n\":\n1.50}";
  EXPECT_EQ(line_of(7, call, milliseconds{250}),
            "{\"id\":7,\"capability\":\"a.b\",\"run\":\"r\",\"idempotency_key\":\"r-1\",\"time_left_ms\":250,"
            "\"arguments\":{\"n\": 1.50}}\n");
}

TEST(ExecProtocol, EachEndingIsItsOwn) {
  const std::pair<const char*, bridge::ConnectorAnswer> told[] = {
      {R"({"id":7,"result":{"n":123456789012345678901.50}})",
       {Kind::kValue, R"({"n":123456789012345678901.50})"}},
      {R"({"error":"no","id":7})", {Kind::kToolError, "no"}},
      {R"({"id":7,"error":{"code":1,"message":"no"}})", {Kind::kToolError, "no"}},
      {R"({"id":7,"not_done":"closed"})", {Kind::kDeclined, "closed"}},
      {R"({"id":7,"unknown":"lost"})", {Kind::kUnknown, "lost"}},
  };
  for (const auto& [line, answer] : told) {
    const auto parsed = parse_answer(line);
    ASSERT_TRUE(parsed) << line;
    EXPECT_EQ(parsed->number, 7U);
    EXPECT_EQ(parsed->answer.kind, answer.kind) << line;
    EXPECT_EQ(parsed->answer.text, answer.text) << line;
  }
}

TEST(ExecProtocol, WhatIsNoAnswerIsRefused) {
  for (const char* line :
       {"", "[]", "7", R"({"id":7})", R"({"result":1})", R"({"id":7,"result":1,"error":"x"})",
        R"({"id":7,"done":1})", R"({"id":-7,"result":1})", R"({"id":7,"not_done":1})",
        R"({"id":7,"unknown":{}})", R"({"id":7,"id":8})", R"({"id":7,"result":NaN})"})
    EXPECT_FALSE(parse_answer(line)) << line;
}

}  // namespace
}  // namespace casemate::connect
