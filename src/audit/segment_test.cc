#include "audit/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "sys/test_support.h"

namespace casemate::audit {
namespace {

using sys::TestDir;
using sys::write_text;
using What = LineReader::What;

sys::Fd directory_of(const TestDir& dir) {
  return *sys::open_at(AT_FDCWD, dir.path(), O_RDONLY | O_DIRECTORY);
}

sys::Fd file_with(const TestDir& dir, const std::string& text) {
  write_text(dir / "file", text);
  return *sys::open_at(AT_FDCWD, dir / "file", O_RDONLY);
}

void append_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

TEST(SegmentNames, ReadBackAndInOrder) {
  EXPECT_EQ(segment_name(12), "00000012.jsonl");
  EXPECT_EQ(segment_number("00000012.jsonl"), 12U);
  for (const char* name :
       {"12.jsonl", "0000012a.jsonl", "00000012.json", "segment.new", "", "000000012.jsonl"})
    EXPECT_FALSE(segment_number(name)) << name;
  const TestDir dir;
  for (const char* name : {"00000010.jsonl", "00000002.jsonl", "lock", "00000001.jsonl"})
    write_text(dir / name, "");
  EXPECT_EQ(*list_segments(directory_of(dir)), (std::vector<std::uint32_t>{1, 2, 10}));
}

TEST(Segments, AreRegularFiles) {
  const TestDir dir;
  write_text(dir / "real", "");
  std::filesystem::create_symlink(dir / "real", dir / "00000001.jsonl");
  std::filesystem::create_directory(dir / "00000002.jsonl");
  ASSERT_EQ(::mkfifo((dir / "00000003.jsonl").c_str(), 0600), 0);
  for (const std::uint32_t number : {1U, 2U, 3U})
    EXPECT_FALSE(open_segment(directory_of(dir), number)) << number;
}

TEST(LineReader, GivesLinesWithTheirPlaces) {
  const TestDir dir;
  LineReader reader(file_with(dir, "one\n\nthree\nfo"));
  std::string_view line;
  EXPECT_EQ(*reader.next(line), What::kLine);
  EXPECT_EQ(line, "one");
  EXPECT_EQ(*reader.next(line), What::kLine);
  EXPECT_EQ(line, "");
  EXPECT_EQ(reader.line_offset(), 4U);
  EXPECT_EQ(*reader.next(line), What::kLine);
  EXPECT_EQ(line, "three");
  EXPECT_EQ(reader.offset(), 11U);
  EXPECT_EQ(*reader.next(line), What::kPart);
  EXPECT_EQ(line, "fo");
  append_text(dir / "file", "ur\n");
  EXPECT_EQ(*reader.next(line), What::kLine);
  EXPECT_EQ(line, "four");
  EXPECT_EQ(reader.line_offset(), 11U);
  EXPECT_EQ(*reader.next(line), What::kEnd);
}

TEST(LineReader, CrossesItsBufferAnywhere) {
  const TestDir dir;
  std::string text;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 60; ++i) {
    lines.emplace_back(1 + (i * 7919) % (kAuditRecordMax - 1), static_cast<char>('a' + i % 26));
    text += lines.back() + "\n";
  }
  LineReader reader(file_with(dir, text));
  std::string_view line;
  std::uint64_t offset = 0;
  for (const std::string& expected : lines) {
    ASSERT_EQ(*reader.next(line), What::kLine);
    ASSERT_EQ(line, expected);
    ASSERT_EQ(reader.line_offset(), offset);
    offset += expected.size() + 1;
  }
  EXPECT_EQ(*reader.next(line), What::kEnd);
}

TEST(LineReader, EndsWhereItWasTold) {
  const TestDir dir;
  LineReader reader(file_with(dir, "one\ntwo\nthree\n"), 4, 10);
  std::string_view line;
  EXPECT_EQ(*reader.next(line), What::kLine);
  EXPECT_EQ(line, "two");
  EXPECT_EQ(*reader.next(line), What::kPart);
  EXPECT_EQ(line, "th");
}

TEST(LineReader, RefusesWhatIsLongerThanARecord) {
  const TestDir dir;
  std::string_view line;
  LineReader longest(file_with(dir, std::string(kAuditRecordMax - 1, 'x') + "\n"));
  EXPECT_EQ(*longest.next(line), What::kLine);
  LineReader with_end(file_with(dir, std::string(kAuditRecordMax, 'x') + "\n"));
  EXPECT_EQ(*with_end.next(line), What::kTooLong);
  LineReader without(file_with(dir, std::string(10 * kAuditRecordMax, 'x')));
  EXPECT_EQ(*without.next(line), What::kTooLong);
}

TEST(Cursor, FollowsAChainAsItGrows) {
  const TestDir dir;
  Cursor cursor(directory_of(dir), Place{});
  std::string_view line;
  EXPECT_FALSE(*cursor.next(line));
  write_text(dir / "00000001.jsonl", "one\nha");
  ASSERT_TRUE(*cursor.next(line));
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(*cursor.next(line));
  append_text(dir / "00000001.jsonl", "lf\n");
  write_text(dir / "00000002.jsonl", "three\n");
  ASSERT_TRUE(*cursor.next(line));
  EXPECT_EQ(line, "half");
  EXPECT_EQ(cursor.at(), (Place{1, 4}));
  ASSERT_TRUE(*cursor.next(line));
  EXPECT_EQ(line, "three");
  EXPECT_EQ(cursor.at(), (Place{2, 0}));
  EXPECT_EQ(cursor.place(), (Place{2, 6}));
  EXPECT_FALSE(*cursor.next(line));
}

TEST(Cursor, RefusesASegmentThatEndsInHalfALine) {
  const TestDir dir;
  write_text(dir / "00000001.jsonl", "one\nha");
  write_text(dir / "00000002.jsonl", "three\n");
  Cursor cursor(directory_of(dir), Place{});
  std::string_view line;
  ASSERT_TRUE(*cursor.next(line));
  EXPECT_EQ(cursor.next(line).error().code, ErrorCode::kInvalid);
}

TEST(PlaceOfLast, GoesBackOverSegments) {
  const TestDir dir;
  EXPECT_EQ(*place_of_last(directory_of(dir), 5), Place{});
  write_text(dir / "00000001.jsonl", "one\ntwo\n");
  write_text(dir / "00000002.jsonl", "three\nfour\nfi");
  const sys::Fd directory = directory_of(dir);
  EXPECT_EQ(*place_of_last(directory, 1), (Place{2, 6}));
  EXPECT_EQ(*place_of_last(directory, 2), (Place{2, 0}));
  EXPECT_EQ(*place_of_last(directory, 3), (Place{1, 4}));
  EXPECT_EQ(*place_of_last(directory, 9), (Place{1, 0}));
  write_text(dir / "00000002.jsonl", std::string(200'000, 'x') + "\n" + std::string(100'000, 'y') + "\n");
  EXPECT_EQ(*place_of_last(directory, 1), (Place{2, 200'001}));
}

}  // namespace
}  // namespace casemate::audit
