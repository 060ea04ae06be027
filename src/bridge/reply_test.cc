#include "bridge/reply.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "frame/frame.h"

namespace casemate::bridge {
namespace {

using frame::GuestType;
using frame::Tag;

std::vector<frame::Frame> frames_of(std::string_view bytes) {
  frame::Reader reader;
  EXPECT_TRUE(reader.feed(bytes));
  std::vector<frame::Frame> frames;
  for (frame::Frame frame; reader.next(frame).value();) frames.push_back(frame);
  EXPECT_FALSE(reader.partial());
  return frames;
}

TEST(Reply, OfAValueIsOneFrame) {
  std::string out;
  append_reply(out, 9, {frame::ReplyStatus::kValue, "[1]", {"decimal /0", "bytes /1"}});
  const auto frames = frames_of(out);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, static_cast<std::uint16_t>(GuestType::kReply));
  const auto fields = frame::parse_fields(frames[0].payload).value();
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_EQ(frame::parse_u64(fields[0].bytes).value(), 9U);
  EXPECT_EQ(fields[1].bytes, std::string_view("\0", 1));
  EXPECT_EQ(fields[2].bytes, "decimal /0");
  EXPECT_EQ(fields[3].bytes, "bytes /1");
  EXPECT_EQ(fields[4].bytes, "[1]");
}

TEST(Reply, OfManyBytesComesInPieces) {
  for (const std::size_t size : {kFramePayloadMax / 2, kFramePayloadMax / 2 + 1, kFramePayloadMax * 10}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; i += 1000) text[i] = static_cast<char>('b' + i / 1000 % 20);
    std::string out;
    append_reply(out, 1, {frame::ReplyStatus::kValue, text, {}});
    std::string joined;
    bool more = true;
    for (const frame::Frame& frame : frames_of(out)) {
      EXPECT_TRUE(more) << "a piece after the last";
      more = false;
      const auto fields = frame::parse_fields(frame.payload).value();
      for (const frame::Field& field : fields) {
        if (static_cast<Tag>(field.tag) == Tag::kBytes) joined += field.bytes;
        if (static_cast<Tag>(field.tag) == Tag::kMore) more = true;
      }
    }
    EXPECT_FALSE(more);
    EXPECT_TRUE(joined == text) << size;
  }
}

TEST(Reply, SaysWhatFailed) {
  const Reply error = reply_of("a.b", CallError{"timeout", "it \"hangs\"", std::nullopt});
  EXPECT_EQ(error.status, frame::ReplyStatus::kError);
  EXPECT_EQ(error.json, R"({"capability":"a.b","code":"timeout","message":"it \"hangs\"","effect":null})");
  EXPECT_NE(reply_of("a.b", CallError{"invalid", "no", false}).json.find(R"("effect":false)"),
            std::string::npos);
  const Reply denial = reply_of("a.b", Denial{"not allowed", "deny a.*", "because"});
  EXPECT_EQ(denial.status, frame::ReplyStatus::kDenied);
  EXPECT_EQ(denial.json,
            R"({"capability":"a.b","message":"not allowed","rule":"deny a.*","reason":"because"})");
}

}  // namespace
}  // namespace casemate::bridge
