#include "approve/messages.h"

#include <gtest/gtest.h>

#include "approve/text.h"
#include "json/reader.h"

namespace casemate::approve {
namespace {

const Instant kAt = Instant{} + milliseconds{1'000'000};

Question question(std::string arguments) {
  return {"run_1-1", "run_1",  "mail.send", std::move(arguments), {{"untrusted", "web.get"}},
          "flow.0",  "read it"};
}

class MessagesTest : public testing::Test {
 protected:
  void put(std::string arguments) {
    ASSERT_TRUE(desk_.ask(
        question(std::move(arguments)), kAt, Deadline::at(kAt + milliseconds{5000}),
        [](const std::string& text) -> Result<std::string> { return text; },
        [this](Answer answer) { answer_ = std::move(answer); }));
  }
  Result<std::vector<Listed>> said(const Request& request) {
    return read_reply(answer_request(desk_, write_request(request), kAt));
  }
  Desk desk_;
  std::optional<Answer> answer_;
};

TEST_F(MessagesTest, AQuestionCrossesWhole) {
  put(R"({"to":"a"})");
  const auto asks = said({"list", {}, {}, {}});
  ASSERT_TRUE(asks) << asks.error().message;
  ASSERT_EQ(asks->size(), 1U);
  const Listed& one = asks->front();
  EXPECT_EQ(one.question.id, "run_1-1");
  EXPECT_EQ(one.question.capability, "mail.send");
  EXPECT_EQ(one.question.arguments, R"({"to":"a"})");
  EXPECT_EQ(one.question.labels, question("").labels);
  EXPECT_EQ(one.question.rule, "flow.0");
  EXPECT_EQ(one.left_ms, 5000U);
}

TEST_F(MessagesTest, AListCutsArgumentsAndShowDoesNot) {
  put("{\"t\":\"" + std::string(100'000, '\x01') + "\"}");
  EXPECT_LE(said({"list", {}, {}, {}})->front().question.arguments.size(), kArgumentsShownMax);
  EXPECT_EQ(said({"list", {}, {}, {}})->front().arguments_bytes, 100'008U);
  EXPECT_EQ(said({"show", "run_1-1", {}, {}})->front().question.arguments.size(), 100'008U);
}

TEST_F(MessagesTest, AnAnswerIsTakenOnce) {
  put("{}");
  ASSERT_TRUE(said({"allow", "run_1-1", R"({"to":"b"})", {}}));
  EXPECT_EQ(answer_->kind, Answer::Kind::kAllow);
  EXPECT_EQ(answer_->by, "approvals");
  EXPECT_EQ(answer_->arguments, R"({"to":"b"})");
  const auto again = said({"deny", "run_1-1", {}, "no"});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kDenied);
}

TEST_F(MessagesTest, WhatIsNoRequestAnswersNothing) {
  put("{}");
  for (const char* line :
       {"", "{", "[]", "null", "{\"do\":1}", "{\"do\":\"allow\"}", "{\"do\":\"ALLOW\",\"id\":\"run_1-1\"}",
        "{\"do\":\"allow\",\"id\":[\"run_1-1\"]}", "\xff\xff"}) {
    EXPECT_FALSE(read_reply(answer_request(desk_, line, kAt))) << line;
  }
  EXPECT_FALSE(answer_);
}

TEST(QuestionText, HasNothingThatDrivesATerminal) {
  Question hostile = question("{\"to\":\"\\u001b[2J\\u202e\\u0007evil\\nallow\",\"\\u001b]0;x\":1}");
  hostile.capability = "a\x1b[31mb\nc";
  hostile.labels = {{"l\x1b[0m", "s\r\n  rule      none\u202e"}};
  hostile.reason = "r\nallow? \x07";
  const std::string text = question_text(hostile, kArgumentsShownMax);
  for (const char byte : text)
    EXPECT_TRUE(byte == 0x0a || static_cast<unsigned char>(byte) >= 0x20) << int{byte};
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  EXPECT_EQ(text.find("\n  rule      none"), std::string::npos) << text;
  EXPECT_EQ(text.find("\nallow"), std::string::npos) << text;
}

TEST(QuestionText, SaysTheSizeOfWhatItCuts) {
  const std::string text = question_text(question("{\"t\":\"" + std::string(10'000, 'x') + "\"}"), 100);
  EXPECT_LT(text.size(), 1000U);
  EXPECT_NE(text.find("cut: they have 10008 bytes"), std::string::npos) << text;
}

}  // namespace
}  // namespace casemate::approve
