#include "http_server/events.h"

#include <gtest/gtest.h>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

std::string text_of(const Event& event) {
  const auto text = format_event(event);
  return text ? *text : "error: " + text.error().message;
}

Result<std::optional<std::uint64_t>> id_of(const std::string& value) {
  Request request;
  request.fields.push_back({"last-event-id", value});
  return last_event_id(request);
}

TEST(Event, IsLinesAndAnEmptyOne) {
  EXPECT_EQ(text_of({"7", "output", "{\"a\":1}"}), "id: 7\nevent: output\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(text_of({"", "", ""}), "data: \n\n");
  EXPECT_EQ(text_of({"", "", " a"}), "data:  a\n\n") << "the reader takes one blank away";
}

TEST(Event, EveryLineBreakOfItsDataBeginsADataLine) {
  EXPECT_EQ(text_of({"", "", "a\nb\rc\r\nd\n\re"}),
            "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\n\n");
  EXPECT_EQ(text_of({"", "", "a\n"}), "data: a\ndata: \n\n");
  EXPECT_EQ(text_of({"", "", "\r\n\r\nid: 9\r\revent: end\n\ndata: x"}),
            "data: \ndata: \ndata: id: 9\ndata: \ndata: event: end\ndata: \ndata: data: x\n\n");
}

TEST(Event, BytesThatAreNotTextAreReplaced) {
  EXPECT_EQ(text_of({"", "", "a\xff"}), "data: a\xef\xbf\xbd\n\n");
}

TEST(Event, IdAndNameAreOneLine) {
  for (const char* bad : {"1\n", "1\r", "a\ndata: x", "\x1b"}) {
    EXPECT_FALSE(format_event({bad, "", ""}));
    EXPECT_FALSE(format_event({"", bad, ""}));
  }
  EXPECT_FALSE(format_event({std::string(1, '\0'), "", ""})) << "readers pass over such an id";
  EXPECT_TRUE(format_event({std::string(kEventWordMax, '1'), "", ""}));
  EXPECT_FALSE(format_event({std::string(kEventWordMax + 1, '1'), "", ""}));
}

TEST(LastEventId, IsADecimalNumber) {
  EXPECT_EQ(last_event_id(Request()).value(), std::nullopt);
  EXPECT_EQ(id_of("0").value(), 0U);
  EXPECT_EQ(id_of("18446744073709551615").value(), 18446744073709551615U);
  for (const char* bad : {"", "-1", "+1", "01", "1 ", " 1", "0x1", "1.0", "18446744073709551616", "a", "1,2"})
    EXPECT_FALSE(id_of(bad)) << bad;
}

}  // namespace
}  // namespace casemate::http_server
