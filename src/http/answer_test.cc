#include "http/answer.h"

#include <gtest/gtest.h>

namespace casemate::http {
namespace {

Config config() {
  auto read = read_config(
      R"({"url":"https://a/","parallel":2,"answer_max_bytes":1000,"headers":{"X-Team":"team-a-public"},
          "secret_headers":{"Authorization":"Bearer hunter2-hunter2","X-Key":"quo\"ted-key"}})");
  EXPECT_TRUE(read) << read.error().message;
  return std::move(*read);
}

TEST(HttpConfig, IsReadWhole) {
  const Config one = config();
  EXPECT_EQ(one.parallel, 2U);
  EXPECT_EQ(one.headers.size(), 3U);
  EXPECT_EQ(one.headers[1], "Authorization: Bearer hunter2-hunter2");
  EXPECT_EQ(one.secrets,
            (std::vector<std::string>{"Bearer hunter2-hunter2", "hunter2-hunter2", "quo\"ted-key"}));
  for (
      const char* line :
      {"", "{}", R"({"url":"https://a/","parallel":0,"answer_max_bytes":1})",
       R"({"url":"x","parallel":1,"answer_max_bytes":1})",
       R"({"url":"https://a/","parallel":1,"answer_max_bytes":1,"headers":{"Host":"b"}})",
       R"({"url":"https://a/","parallel":1,"answer_max_bytes":1,"secret_headers":{"X":"hunter2\r\nY: z"}})"}) {
    const auto read = read_config(line);
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().message.find("hunter2"), std::string::npos);
  }
}

TEST(HttpAnswer, WhatTheServerSaysIsTold) {
  const Config one = config();
  EXPECT_EQ(answer_of(7, 200, R"({"result": {"n": 1.50}})", one), "{\"id\":7,\"result\":{\"n\":1.50}}\n");
  EXPECT_EQ(answer_of(7, 201, R"({"id":7,"error":"no"})", one), "{\"id\":7,\"error\":\"no\"}\n");
  EXPECT_EQ(answer_of(7, 200, R"({"error":{"message":"no"}})", one), "{\"id\":7,\"error\":\"no\"}\n");
  EXPECT_EQ(answer_of(7, 200, R"({"not_done":"full"})", one), "{\"id\":7,\"not_done\":\"full\"}\n");
  EXPECT_EQ(answer_of(7, 503, R"({"not_done":"full"})", one), "{\"id\":7,\"not_done\":\"full\"}\n");
}

TEST(HttpAnswer, WhatIsNoAnswerLeavesItUnknown) {
  const Config one = config();
  const std::pair<long, std::string> none[] = {{200, ""},
                                               {204, ""},
                                               {200, "null"},
                                               {200, "{}"},
                                               {200, "<html>"},
                                               {200, R"({"result":1,"error":"x"})"},
                                               {200, R"({"result":1,"more":2})"},
                                               {200, R"({"id":8,"result":1})"},
                                               {200, R"({"id":7,"id":7,"result":1})"},
                                               {200, R"({"result":1}{"result":2})"},
                                               {200, R"({"error":5})"},
                                               {200, "{\"result\":\"" + std::string(2000, 'x') + "\"}"},
                                               {404, R"({"result":1})"},
                                               {500, R"({"error":"hidden"})"},
                                               {302, ""}};
  for (const auto& [status, body] : none) {
    const std::string line = answer_of(7, status, body, one);
    EXPECT_TRUE(line.starts_with("{\"id\":7,\"unknown\":")) << body << line;
    EXPECT_EQ(line.find("hidden"), std::string::npos);
  }
}

TEST(HttpAnswer, ASecretIsNotRepeated) {
  const Config one = config();
  for (const char* body : {R"({"result":"Bearer hunter2-hunter2"})", R"({"result":{"hunter2-hunter2":1}})",
                           R"({"error":"bad key \u0068unter2-hunter2"})", R"({"not_done":"quo\"ted-key"})"}) {
    const std::string line = answer_of(7, 200, body, one);
    EXPECT_TRUE(line.starts_with("{\"id\":7,\"unknown\":")) << line;
    EXPECT_EQ(line.find("hunter2-hunter2"), std::string::npos) << line;
  }
  EXPECT_EQ(answer_of(7, 200, R"({"result":"team-a-public"})", one),
            "{\"id\":7,\"result\":\"team-a-public\"}\n");
}

TEST(HttpAnswer, ACallIsReadOrRefused) {
  const auto asked = read_asked(R"({"id":7,"idempotency_key":"r-1","time_left_ms":250,"arguments":{}})");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->idempotency_key, "r-1");
  EXPECT_EQ(asked->time_left, milliseconds{250});
  for (const char* line : {"", "{}", R"({"id":7,"time_left_ms":1})",
                           R"({"id":7,"idempotency_key":"a\r\nX: y","time_left_ms":1})"})
    EXPECT_FALSE(read_asked(line)) << line;
}

}  // namespace
}  // namespace casemate::http
