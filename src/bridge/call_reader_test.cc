#include "bridge/call_reader.h"

#include <gtest/gtest.h>

#include "frame/guest.h"

namespace casemate::bridge {
namespace {

using frame::GuestType;
using frame::Tag;

struct Part {
  std::optional<std::uint64_t> number = 1;
  std::optional<std::string> name = "ledger.read";
  std::optional<std::string> piece = "{}";
  bool more = false;
  GuestType type = GuestType::kCall;
  std::string extra = {};
};

frame::Frame frame_of(const Part& part) {
  frame::Frame frame;
  frame.type = static_cast<std::uint16_t>(part.type);
  const auto add = [&](Tag tag, std::string_view bytes) {
    frame::append_field(frame.payload, static_cast<std::uint16_t>(tag), bytes);
  };
  if (part.number) add(Tag::kNumber, frame::u64_bytes(*part.number));
  if (part.name && part.type == GuestType::kCall) add(Tag::kName, *part.name);
  if (part.piece) add(Tag::kBytes, *part.piece);
  if (part.more) add(Tag::kMore, "");
  frame.payload += part.extra;
  return frame;
}

Part data(std::uint64_t number, std::string piece, bool more = false) {
  return {.number = number, .piece = std::move(piece), .more = more, .type = GuestType::kCallData};
}

TEST(CallReader, TakesACallOfOneFrame) {
  CallReader reader(kib(1));
  const frame::Frame frame = frame_of({.number = 7, .piece = R"({"a":1})"});
  ASSERT_TRUE(CallReader::is_call(frame));
  const auto call = reader.add(frame);
  ASSERT_TRUE(call && *call);
  EXPECT_EQ((*call)->number, 7U);
  EXPECT_EQ((*call)->name, "ledger.read");
  EXPECT_EQ((*call)->arguments, R"({"a":1})");
  EXPECT_FALSE((*call)->too_large);
}

TEST(CallReader, JoinsPieces) {
  CallReader reader(kib(1));
  EXPECT_FALSE(reader.add(frame_of({.piece = "{\"a", .more = true})).value());
  EXPECT_FALSE(reader.add(frame_of(data(1, "\":", true))).value());
  const auto call = reader.add(frame_of(data(1, "2}")));
  ASSERT_TRUE(call && *call);
  EXPECT_EQ((*call)->arguments, R"({"a":2})");
  EXPECT_TRUE(reader.add(frame_of({.number = 2})).value());
}

TEST(CallReader, HoldsNoMoreThanItsBound) {
  CallReader reader(Bytes{4});
  EXPECT_EQ(reader.add(frame_of({.piece = "1234"})).value()->arguments, "1234");
  EXPECT_FALSE(reader.add(frame_of({.number = 2, .piece = "1234", .more = true})).value());
  EXPECT_FALSE(reader.add(frame_of(data(2, "5", true))).value());
  EXPECT_FALSE(reader.add(frame_of(data(2, "6", true))).value());
  const auto call = reader.add(frame_of(data(2, "7")));
  ASSERT_TRUE(call && *call);
  EXPECT_TRUE((*call)->too_large);
  EXPECT_EQ((*call)->arguments, "");
  EXPECT_EQ(reader.add(frame_of({.number = 3, .piece = "1"})).value()->arguments, "1")
      << "the next is a new one";
}

TEST(CallReader, RefusesWhatIsNoneOfTheProtocol) {
  const std::string again = frame_of({.number = 1, .name = {}, .piece = {}}).payload;
  const Part broken[] = {
      {.number = {}},
      {.number = 0},
      {.name = std::nullopt},
      {.name = ""},
      {.name = std::string(kCapabilityNameMax + 1, 'a')},
      {.name = "\xff"},
      {.piece = {}},
      {.extra = again},
      {.extra = "x"},
      data(1, "x"),
  };
  int number = 0;
  for (const Part& part : broken) {
    CallReader reader(kib(1));
    EXPECT_FALSE(reader.add(frame_of(part))) << number;
    ++number;
  }
}

TEST(CallReader, RefusesCallsThatAreMixed) {
  const std::vector<std::vector<Part>> scenes = {
      {{.more = true}, {.number = 2}},               // another begins within one
      {{.more = true}, data(2, "x")},                // a piece of another
      {{.more = true}, data(1, "", true)},           // pieces of nothing, for ever
      {{.number = 2}, {.number = 2}},                // one number twice
      {{.number = 2}, {.number = 1}},                // an old one
      {{}, data(1, "x")},                            // of one that is whole
      {{.more = true}, data(1, "x"), data(1, "x")},  // likewise
  };
  for (const auto& scene : scenes) {
    CallReader reader(kib(1));
    for (std::size_t i = 0; i + 1 < scene.size(); ++i) EXPECT_TRUE(reader.add(frame_of(scene[i])));
    EXPECT_FALSE(reader.add(frame_of(scene.back())));
  }
}

}  // namespace
}  // namespace casemate::bridge
