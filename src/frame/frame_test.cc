#include "frame/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"

namespace casemate::frame {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() & 0xff);
  return bytes;
}

std::string one_frame(std::uint16_t type, std::string_view payload) {
  std::string out;
  append_frame(out, type, payload);
  return out;
}

std::string header(std::uint32_t size, std::uint16_t type, std::uint16_t reserved) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(size >> (8 * i)));
  for (int i = 0; i < 2; ++i) out.push_back(static_cast<char>(type >> (8 * i)));
  for (int i = 0; i < 2; ++i) out.push_back(static_cast<char>(reserved >> (8 * i)));
  return out;
}

TEST(Frame, HasTheLayoutThatItsHeaderGives) {
  EXPECT_EQ(one_frame(0x0102, "abc"), std::string("\x03\0\0\0\x02\x01\0\0abc", 11));
  std::string payload;
  append_field(payload, 0x0304, "x");
  EXPECT_EQ(payload, std::string("\x04\x03\0\0\x01\0\0\0x", 9));
}

TEST(Reader, HandsOutWholeFramesHoweverTheBytesArrive) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Frame> sent(1 + below(random, 8));
    std::string stream;
    for (Frame& frame : sent) {
      frame.type = static_cast<std::uint16_t>(random());
      frame.payload = random_bytes(random, below(random, 3) == 0 ? 0 : below(random, 5000));
      append_frame(stream, frame.type, frame.payload);
    }
    Reader reader;
    std::vector<Frame> got;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = std::min(1 + below(random, 2000), stream.size() - at);
      ASSERT_TRUE(reader.feed(std::string_view(stream).substr(at, size)));
      at += size;
      Frame frame;
      while (reader.next(frame).value()) got.push_back(frame);
    }
    ASSERT_EQ(got.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(got[i].type, sent[i].type);
      EXPECT_EQ(got[i].payload, sent[i].payload);
    }
    EXPECT_FALSE(reader.partial());
  }
}

TEST(Reader, WaitsForTheRestAfterEveryByte) {
  const std::string whole = one_frame(7, "twelve bytes");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    Reader reader;
    Frame frame;
    ASSERT_TRUE(reader.feed(std::string_view(whole).substr(0, cut)));
    const Result<bool> early = reader.next(frame);
    ASSERT_TRUE(early) << cut;
    EXPECT_FALSE(*early) << cut;
    EXPECT_EQ(reader.partial(), cut > 0);
    ASSERT_TRUE(reader.feed(std::string_view(whole).substr(cut)));
    ASSERT_TRUE(reader.next(frame).value()) << cut;
    EXPECT_EQ(frame.payload, "twelve bytes");
    EXPECT_FALSE(reader.partial());
  }
}

TEST(Reader, KnowsThatASecondFrameIsUnfinished) {
  Reader reader;
  Frame frame;
  ASSERT_TRUE(reader.feed(one_frame(1, "a") + one_frame(2, "b").substr(0, 3)));
  ASSERT_TRUE(reader.next(frame).value());
  EXPECT_FALSE(reader.next(frame).value());
  EXPECT_TRUE(reader.partial());
}

TEST(Reader, RefusesEveryReservedBit) {
  for (int bit = 0; bit < 16; ++bit) {
    Reader reader;
    Frame frame;
    ASSERT_TRUE(reader.feed(header(0, 1, static_cast<std::uint16_t>(1 << bit))));
    const Result<bool> next = reader.next(frame);
    ASSERT_FALSE(next) << bit;
    EXPECT_EQ(next.error().code, ErrorCode::kInvalid);
  }
}

TEST(Reader, TakesTheLargestPayload) {
  Reader reader;
  Frame frame;
  ASSERT_TRUE(reader.feed(one_frame(1, std::string(kFramePayloadMax, 'x'))));
  ASSERT_TRUE(reader.next(frame).value());
  EXPECT_EQ(frame.payload.size(), kFramePayloadMax);
}

TEST(Reader, RefusesALargerPayloadByItsHeaderAlone) {
  for (const std::uint32_t size :
       {std::uint32_t{kFramePayloadMax} + 1, std::uint32_t{0x80000000}, UINT32_MAX}) {
    Reader reader;
    Frame frame;
    ASSERT_TRUE(reader.feed(header(size, 1, 0)));
    EXPECT_FALSE(reader.next(frame)) << size;
  }
}

TEST(Reader, StaysBroken) {
  Reader reader;
  Frame frame;
  ASSERT_TRUE(reader.feed(header(0, 1, 1)));
  ASSERT_FALSE(reader.next(frame));
  EXPECT_FALSE(reader.feed(one_frame(1, "a")));
  EXPECT_FALSE(reader.next(frame));
}

TEST(Reader, HandsOutWhatCameBeforeTheBreak) {
  Reader reader;
  Frame frame;
  ASSERT_TRUE(reader.feed(one_frame(5, "kept") + header(0, 1, 1)));
  ASSERT_TRUE(reader.next(frame).value());
  EXPECT_EQ(frame.payload, "kept");
  EXPECT_FALSE(reader.next(frame));
}

TEST(FrameDeathTest, RefusesToSendMoreThanTheReaderTakes) {
  std::string out;
  const std::string payload(kFramePayloadMax + 1, 'x');
  EXPECT_DEATH(append_frame(out, 1, payload), "CHECK");
  EXPECT_DEATH(append_field(out, 1, payload), "CHECK");
}

TEST(Fields, ComeBackInOrder) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::pair<std::uint16_t, std::string>> sent(below(random, 40));
    std::string payload;
    for (auto& [tag, bytes] : sent) {
      tag = static_cast<std::uint16_t>(random());
      bytes = random_bytes(random, below(random, 200));
      append_field(payload, tag, bytes);
    }
    const Result<std::vector<Field>> fields = parse_fields(payload);
    ASSERT_TRUE(fields);
    ASSERT_EQ(fields->size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ((*fields)[i].tag, sent[i].first);
      EXPECT_EQ((*fields)[i].bytes, sent[i].second);
    }
  }
}

TEST(Fields, CutShortAtAnyByteAreRefused) {
  std::string payload;
  append_field(payload, 1, "first");
  const std::size_t boundary = payload.size();
  append_field(payload, 2, "");
  append_field(payload, 3, "third");
  const std::size_t second = boundary + kFieldHeaderSize;
  for (std::size_t cut = 0; cut < payload.size(); ++cut) {
    const bool whole = cut == 0 || cut == boundary || cut == second;
    EXPECT_EQ(parse_fields(std::string_view(payload).substr(0, cut)).has_value(), whole) << cut;
  }
}

TEST(Fields, RefuseEveryReservedBit) {
  for (std::size_t bit = 0; bit < 16; ++bit) {
    std::string payload;
    append_field(payload, 1, "x");
    payload[2 + bit / 8] = static_cast<char>(1 << (bit % 8));
    const Result<std::vector<Field>> fields = parse_fields(payload);
    ASSERT_FALSE(fields) << bit;
    EXPECT_EQ(fields.error().code, ErrorCode::kInvalid);
  }
}

TEST(Fields, LongerThanTheirFrameAreRefused) {
  std::string payload;
  append_field(payload, 1, "abc");
  for (const char size : {'\x04', '\x05', '\x7f'}) {
    payload[4] = size;
    EXPECT_FALSE(parse_fields(payload)) << int{size};
  }
  for (const std::size_t at : {5U, 6U, 7U}) {
    std::string huge;
    append_field(huge, 1, "abc");
    huge[at] = static_cast<char>(0xff);
    EXPECT_FALSE(parse_fields(huge)) << at;
  }
}

TEST(Fields, AreTakenUpToTheirBoundAndNotPast) {
  std::string payload;
  for (std::size_t i = 0; i < kFieldsMax; ++i) append_field(payload, 1, "");
  ASSERT_TRUE(parse_fields(payload));
  EXPECT_EQ(parse_fields(payload)->size(), kFieldsMax);
  append_field(payload, 1, "");
  const Result<std::vector<Field>> fields = parse_fields(payload);
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().code, ErrorCode::kInvalid);
}

TEST(Fields, AFloodInTheLargestFrameIsRefused) {
  std::string payload;
  while (payload.size() + kFieldHeaderSize <= kFramePayloadMax) append_field(payload, 0, "");
  EXPECT_FALSE(parse_fields(payload));
}

TEST(Fields, AnEmptyPayloadHasNone) {
  ASSERT_TRUE(parse_fields(""));
  EXPECT_TRUE(parse_fields("")->empty());
}

TEST(Integers, ComeBack) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255},
                                    std::uint64_t{256}, std::uint64_t{0x0123456789abcdef}, UINT64_MAX}) {
    EXPECT_EQ(parse_u64(u64_bytes(value)).value(), value);
  }
  EXPECT_EQ(u64_bytes(0x0102), std::string("\x02\x01\0\0\0\0\0\0", 8));
}

TEST(Integers, OfAnyOtherSizeAreRefused) {
  for (std::size_t size = 0; size < 20; ++size) {
    EXPECT_EQ(parse_u64(std::string(size, '\1')).has_value(), size == 8) << size;
  }
}

}  // namespace
}  // namespace casemate::frame
