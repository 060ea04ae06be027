#include "outcome/guest_report.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "frame/guest.h"
#include "json/utf8.h"

namespace casemate::outcome {
namespace {

using frame::GuestType;
using frame::Tag;
using frame::u64_bytes;
using Fields = std::vector<std::pair<Tag, std::string>>;

frame::Frame frame_of(GuestType type, const Fields& fields) {
  frame::Frame made{static_cast<std::uint16_t>(type), {}};
  for (const auto& [tag, bytes] : fields) {
    frame::append_field(made.payload, static_cast<std::uint16_t>(tag), bytes);
  }
  return made;
}

template <typename T>
T parsed(GuestType type, const Fields& fields) {
  Result<GuestMessage> message = parse_guest(frame_of(type, fields));
  EXPECT_TRUE(message) << message.error().message;
  if (!message || !std::holds_alternative<T>(*message)) {
    ADD_FAILURE() << "another message";
    return T();
  }
  return std::get<T>(*message);
}

const Fields kLeastException = {{Tag::kType, "KeyError"}, {Tag::kMessage, "'amount'"}};

Fields with(Fields fields, Tag tag, std::string bytes) {
  fields.emplace_back(tag, std::move(bytes));
  return fields;
}

TEST(ParseGuest, Order) {
  const auto order =
      parsed<GuestOrder>(GuestType::kOrder, {{Tag::kStream, "\x02"}, {Tag::kNumber, u64_bytes(7)}});
  EXPECT_EQ(order.stream, Stream::kStderr);
  EXPECT_EQ(order.total, 7u);
}

TEST(ParseGuest, AnEndIsAnExitCodeOrASignal) {
  const auto end_of = [](std::uint64_t status) {
    return parsed<GuestEnd>(GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(status)}});
  };
  EXPECT_EQ(end_of(3 << 8).exit_code, 3);
  EXPECT_FALSE(end_of(3 << 8).signal);
  EXPECT_EQ(end_of(9).signal, 9);
  EXPECT_EQ(end_of(6 | 0x80).signal, 6) << "with a core dump";
  EXPECT_FALSE(end_of(9).exit_code);
}

Fields end_with_counts() {
  Fields fields = {{Tag::kWaitStatus, u64_bytes(0)}};
  for (int i = 0; i < 7; ++i)
    fields.emplace_back(static_cast<Tag>(static_cast<int>(Tag::kOomKills) + i),
                        u64_bytes(10U + static_cast<unsigned>(i)));
  return fields;
}

TEST(ParseGuest, AnEndMayHaveWhatItsKernelCounted) {
  const auto end = parsed<GuestEnd>(GuestType::kEnded, end_with_counts());
  ASSERT_TRUE(end.counts);
  EXPECT_EQ(end.counts->oom_kills, 10U);
  EXPECT_EQ(end.counts->memory_peak_bytes, 11U);
  EXPECT_EQ(end.counts->pids_refused, 12U);
  EXPECT_EQ(end.counts->pids_peak, 13U);
  EXPECT_EQ(end.counts->disk_used_bytes, 14U);
  EXPECT_EQ(end.counts->disk_free_bytes, 15U);
  EXPECT_EQ(end.counts->inodes_free, 16U);
  EXPECT_FALSE(parsed<GuestEnd>(GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(0)}}).counts);
  Fields largest = end_with_counts();
  for (std::size_t i = 1; i < largest.size(); ++i) largest[i].second = u64_bytes(~std::uint64_t{0});
  EXPECT_EQ(parsed<GuestEnd>(GuestType::kEnded, largest).counts->disk_free_bytes, ~std::uint64_t{0});
}

TEST(ParseGuest, AnEndHasAllOfItsCountsInOrderOrNone) {
  const Fields whole = end_with_counts();
  const auto refused = [](const Fields& fields) {
    return !parse_guest(frame_of(GuestType::kEnded, fields)).has_value();
  };
  ASSERT_FALSE(refused(whole));
  for (std::size_t i = 1; i < whole.size(); ++i) {
    Fields less = whole, twice = whole, swapped = whole, narrow = whole, wide = whole;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(refused(less)) << i;
    EXPECT_TRUE(refused(Fields(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i))) == (i > 1))
        << i;
    twice[i] = twice[i - 1];
    EXPECT_TRUE(refused(twice)) << i;
    std::swap(swapped[i], swapped[i == 1 ? 2 : i - 1]);
    EXPECT_TRUE(refused(swapped)) << i;
    narrow[i].second.pop_back();
    EXPECT_TRUE(refused(narrow)) << i;
    wide[i].second.push_back('\0');
    EXPECT_TRUE(refused(wide)) << i;
  }
  EXPECT_TRUE(refused(with(whole, Tag::kInodesFree, u64_bytes(0))));
  EXPECT_TRUE(refused(with(whole, static_cast<Tag>(54), u64_bytes(0))));
  EXPECT_TRUE(refused(Fields(whole.begin() + 1, whole.end()))) << "without its status";
}

TEST(ParseGuest, ResultKeepsItsForms) {
  const auto result = parsed<GuestResult>(GuestType::kResult, {{Tag::kMediaType, "text/plain"},
                                                               {Tag::kText, "\u4f60"},
                                                               {Tag::kMediaType, "text/html"},
                                                               {Tag::kText, "\xff"}});
  ASSERT_EQ(result.forms.size(), 2u);
  EXPECT_EQ(result.forms[0], (ResultForm{"text/plain", "\u4f60"}));
  EXPECT_EQ(result.forms[1].text, "\uFFFD");
}

TEST(ParseGuest, ArtifactIsBoundedAndEscaped) {
  const auto artifact =
      parsed<GuestArtifact>(GuestType::kArtifact, {{Tag::kPath, "out/a\xc3.png"},
                                                   {Tag::kName, "../../etc/passwd"},
                                                   {Tag::kText, "line\n\x1b[31m" + std::string(500, 'x')},
                                                   {Tag::kMediaType, "image/png"},
                                                   {Tag::kOrigin, "figure"}});
  EXPECT_EQ(artifact.path, "out/a\xc3.png");
  EXPECT_EQ(artifact.name, ".._.._etc_passwd");
  EXPECT_TRUE(artifact.summary.starts_with("line\\n\\x1b[31mxxx"));
  EXPECT_LE(artifact.summary.size(), kSummaryMax);
  EXPECT_EQ(artifact.media_type, "image/png");
  EXPECT_TRUE(artifact.figure);
}

TEST(ParseGuest, AnArtifactNeedsOnlyAPath) {
  const auto artifact = parsed<GuestArtifact>(GuestType::kArtifact, {{Tag::kPath, "out/deep/x.txt"}});
  EXPECT_EQ(artifact.name, "x.txt");
  EXPECT_EQ(artifact.summary, "");
  EXPECT_EQ(artifact.media_type, "");
  EXPECT_FALSE(artifact.figure);
}

TEST(ParseGuest, AnArtifactsMediaTypeThatIsNoneIsNoClaim) {
  for (const char* claim : {"image/", "text/csv;charset=utf-8", "a\n/b", "", "image"}) {
    const Fields fields = {{Tag::kPath, "a"}, {Tag::kMediaType, claim}};
    EXPECT_EQ(parsed<GuestArtifact>(GuestType::kArtifact, fields).media_type, "") << claim;
  }
}

TEST(ParseGuest, ExceptionWithEverything) {
  Fields fields = kLeastException;
  fields.insert(fields.end(), {{Tag::kErrno, u64_bytes(28)},
                               {Tag::kFile, "program.py"},
                               {Tag::kLine, u64_bytes(4)},
                               {Tag::kSource, "total += row[\"amount\"]"},
                               {Tag::kHiddenFrames, u64_bytes(3)},
                               {Tag::kFrameFile, "program.py"},
                               {Tag::kFrameLine, u64_bytes(9)},
                               {Tag::kFrameFunction, "<module>"},
                               {Tag::kFrameSource, "main()"},
                               {Tag::kFrameFile, "other.py"},
                               {Tag::kHint, "row keys present: ['a']"},
                               {Tag::kRendered, "Traceback\nKeyError"},
                               {Tag::kExitCode, u64_bytes(1)}});
  const auto guest = parsed<GuestException>(GuestType::kException, fields);
  const Exception& exception = guest.exception;
  EXPECT_EQ(exception.type, "KeyError");
  EXPECT_EQ(exception.message, "'amount'");
  EXPECT_EQ(guest.errno_value, 28);
  EXPECT_EQ(guest.exit_code, 1);
  EXPECT_EQ(exception.file, "program.py");
  EXPECT_EQ(exception.line, 4u);
  EXPECT_EQ(exception.source, "total += row[\"amount\"]");
  EXPECT_EQ(exception.hidden_frames, 3u);
  ASSERT_EQ(exception.frames.size(), 2u);
  EXPECT_EQ(exception.frames[0].function, "<module>");
  EXPECT_EQ(exception.frames[0].line, 9u);
  EXPECT_EQ(exception.frames[1].file, "other.py");
  EXPECT_FALSE(exception.frames[1].line);
  ASSERT_EQ(exception.hints.size(), 1u);
  EXPECT_EQ(exception.rendered, "Traceback\nKeyError");
}

TEST(ParseGuest, LongThingsAreCutAndCounted) {
  Fields fields = kLeastException;
  fields[1].second = "begin" + std::string(1 << 18, 'm') +
                     "\xff"
                     "end";
  fields.emplace_back(Tag::kSource, std::string(1 << 18, 's'));
  for (std::size_t i = 0; i < kReportFramesMax + 10; ++i)
    fields.emplace_back(Tag::kFrameFile, std::to_string(i));
  for (std::size_t i = 0; i < kReportHintsMax + 3; ++i) fields.emplace_back(Tag::kHint, "h");
  const Exception exception = parsed<GuestException>(GuestType::kException, fields).exception;
  EXPECT_LE(exception.message.size(), kReportTextMax);
  EXPECT_TRUE(exception.message.starts_with("beginmmm"));
  EXPECT_TRUE(exception.message.ends_with("mmm\uFFFDend"));
  EXPECT_LE(exception.source->size(), kGuestLineMax);
  ASSERT_EQ(exception.frames.size(), kReportFramesMax);
  EXPECT_EQ(exception.frames_left_out, 10u);
  EXPECT_EQ(exception.frames.front().file, "0");
  EXPECT_EQ(exception.frames.back().file, std::to_string(kReportFramesMax + 9));
  EXPECT_EQ(exception.hints.size(), kReportHintsMax);
  EXPECT_EQ(exception.hints_left_out, 3u);
}

struct BadCase {
  const char* what;
  GuestType type;
  Fields fields;
};

TEST(ParseGuest, RefusesWhatDepartsFromTheProtocol) {
  const Fields order = {{Tag::kStream, "\x01"}, {Tag::kNumber, u64_bytes(0)}};
  const Fields artifact = {{Tag::kPath, "a"}};
  const std::vector<BadCase> cases = {
      {"an engine's frame", GuestType::kStart, {}},
      {"an unknown type", static_cast<GuestType>(99), {}},
      {"end: nothing", GuestType::kEnded, {}},
      {"end: another's field", GuestType::kEnded, {{Tag::kExitCode, u64_bytes(0)}}},
      {"end: stopped", GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(0x137f)}}},
      {"end: no status", GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(0xffff)}}},
      {"end: a signal that is none", GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(65)}}},
      {"end: more than a status", GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(1 << 16)}}},
      {"order: nothing", GuestType::kOrder, {}},
      {"order: no number", GuestType::kOrder, {{Tag::kStream, "\x01"}}},
      {"order: stream 3", GuestType::kOrder, {{Tag::kStream, "\x03"}, {Tag::kNumber, u64_bytes(0)}}},
      {"order: stream of two bytes",
       GuestType::kOrder,
       {{Tag::kStream, "\x01\x01"}, {Tag::kNumber, u64_bytes(0)}}},
      {"order: short number", GuestType::kOrder, {{Tag::kStream, "\x01"}, {Tag::kNumber, "1234567"}}},
      {"order: one field more", GuestType::kOrder, with(order, Tag::kNumber, u64_bytes(1))},
      {"result: nothing", GuestType::kResult, {}},
      {"result: half a pair", GuestType::kResult, {{Tag::kMediaType, "text/plain"}}},
      {"result: no media type", GuestType::kResult, {{Tag::kMediaType, "text"}, {Tag::kText, ""}}},
      {"result: a media type with a newline",
       GuestType::kResult,
       {{Tag::kMediaType, "text/a\n"}, {Tag::kText, ""}}},
      {"result: twice",
       GuestType::kResult,
       {{Tag::kMediaType, "a/b"}, {Tag::kText, ""}, {Tag::kMediaType, "a/b"}, {Tag::kText, ""}}},
      {"artifact: no path", GuestType::kArtifact, {{Tag::kName, "a"}}},
      {"artifact: empty path", GuestType::kArtifact, {{Tag::kPath, ""}}},
      {"artifact: NUL", GuestType::kArtifact, {{Tag::kPath, std::string("a\0b", 3)}}},
      {"artifact: long path", GuestType::kArtifact, {{Tag::kPath, std::string(kPathMax + 1, 'a')}}},
      {"artifact: two paths", GuestType::kArtifact, with(artifact, Tag::kPath, "b")},
      {"artifact: two summaries", GuestType::kArtifact, with(with(artifact, Tag::kText, ""), Tag::kText, "")},
      {"artifact: origin", GuestType::kArtifact, with(artifact, Tag::kOrigin, "trusted")},
      {"artifact: another's field", GuestType::kArtifact, with(artifact, Tag::kStream, "\x01")},
      {"exception: no type", GuestType::kException, {{Tag::kMessage, ""}}},
      {"exception: no message", GuestType::kException, {{Tag::kType, "E"}}},
      {"exception: two types", GuestType::kException, with(kLeastException, Tag::kType, "E")},
      {"exception: errno 0", GuestType::kException, with(kLeastException, Tag::kErrno, u64_bytes(0))},
      {"exception: errno", GuestType::kException, with(kLeastException, Tag::kErrno, u64_bytes(4096))},
      {"exception: exit code", GuestType::kException, with(kLeastException, Tag::kExitCode, u64_bytes(256))},
      {"exception: line", GuestType::kException,
       with(kLeastException, Tag::kLine, u64_bytes(~std::uint64_t{0}))},
      {"exception: frame field first", GuestType::kException,
       with(kLeastException, Tag::kFrameLine, u64_bytes(1))},
      {"exception: two frame lines", GuestType::kException,
       with(with(with(kLeastException, Tag::kFrameFile, "a"), Tag::kFrameLine, u64_bytes(1)), Tag::kFrameLine,
            u64_bytes(1))},
      {"exception: two rendered", GuestType::kException,
       with(with(kLeastException, Tag::kRendered, ""), Tag::kRendered, "")},
      {"exception: another's field", GuestType::kException, with(kLeastException, Tag::kStream, "\x01")},
  };
  for (const BadCase& test : cases) {
    SCOPED_TRACE(test.what);
    const Result<GuestMessage> message = parse_guest(frame_of(test.type, test.fields));
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().code, ErrorCode::kInvalid);
  }
  EXPECT_TRUE(parse_guest(frame_of(GuestType::kOrder, order)));
  EXPECT_TRUE(parse_guest(frame_of(GuestType::kArtifact, artifact)));
  EXPECT_TRUE(parse_guest(frame_of(GuestType::kException, kLeastException)));
}

void expect_text(const std::string& text) { ASSERT_TRUE(json::is_valid_utf8(text)); }

// Damaged frames and frames of random fields: an error or a bounded, valid message, never anything else.
TEST(ParseGuest, WhateverComesIsBoundedAndValid) {
  static const std::vector<std::string> kValues = {"",
                                                   "\x01",
                                                   "\x02",
                                                   "a/b",
                                                   "\xff\n",
                                                   "figure",
                                                   u64_bytes(3),
                                                   u64_bytes(~std::uint64_t{0}),
                                                   "a\x1b[m",
                                                   std::string(1, '\0'),
                                                   std::string(300, '\n')};
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    frame::Frame frame{static_cast<std::uint16_t>(15 + random() % 8), {}};
    for (std::uint64_t n = random() % 12; n > 0; --n) {
      const auto tag = static_cast<std::uint16_t>(random() % 2 == 0 ? 1 + random() % 10 : 32 + random() % 15);
      frame::append_field(frame.payload, tag, kValues[random() % kValues.size()]);
    }
    if (!frame.payload.empty() && random() % 4 == 0) {
      frame.payload[random() % frame.payload.size()] = static_cast<char>(random());
    }
    const Result<GuestMessage> message = parse_guest(frame);
    if (!message) continue;
    if (const auto* result = std::get_if<GuestResult>(&*message)) {
      for (const auto& [type, text] : result->forms) expect_text(text);
    } else if (const auto* artifact = std::get_if<GuestArtifact>(&*message)) {
      expect_text(artifact->summary);
      expect_text(artifact->name);
      ASSERT_EQ((artifact->summary + artifact->name).find('\n'), std::string::npos);
    } else if (const auto* guest = std::get_if<GuestException>(&*message)) {
      expect_text(guest->exception.type + guest->exception.message);
      for (const ExceptionFrame& one : guest->exception.frames)
        expect_text(one.file + one.function + one.source);
    }
  }
}

TEST(GuestReport, CollectsWhatWasSaid) {
  GuestReport report;
  const auto order =
      report.add(frame_of(GuestType::kOrder, {{Tag::kStream, "\x01"}, {Tag::kNumber, u64_bytes(9)}}));
  ASSERT_TRUE(order && *order);
  EXPECT_EQ((*order)->total, 9u);
  for (const char* text : {"1", "2"}) {
    const auto none =
        report.add(frame_of(GuestType::kResult, {{Tag::kMediaType, "text/plain"}, {Tag::kText, text}}));
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
  }
  EXPECT_EQ(report.result()->forms[0].text, "2");
  EXPECT_FALSE(report.exception());
  ASSERT_TRUE(report.add(frame_of(GuestType::kException, kLeastException)));
  EXPECT_TRUE(report.exception());
  EXPECT_FALSE(report.broken());
}

TEST(GuestReport, AGuestOfTheHostsKernelDoesNotTellItsEnd) {
  GuestReport report;
  EXPECT_FALSE(report.add(frame_of(GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(0)}})));
  EXPECT_TRUE(report.broken());
  EXPECT_FALSE(report.end());
}

TEST(GuestReport, NothingComesAfterTheEnd) {
  GuestReport report(/*own_kernel=*/true);
  ASSERT_TRUE(report.add(frame_of(GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(0)}})));
  EXPECT_EQ(report.end()->exit_code, 0);
  EXPECT_FALSE(report.add(frame_of(GuestType::kEnded, {{Tag::kWaitStatus, u64_bytes(9)}})));
  EXPECT_EQ(report.end()->exit_code, 0);
}

TEST(GuestReport, ASecondExceptionBreaksTheChannelAndTheFirstStands) {
  GuestReport report;
  ASSERT_TRUE(report.add(frame_of(GuestType::kException, kLeastException)));
  ASSERT_FALSE(report.add(frame_of(GuestType::kException, kLeastException)));
  EXPECT_TRUE(report.broken());
  EXPECT_EQ(report.exception()->exception.type, "KeyError");
  EXPECT_FALSE(report.add(frame_of(GuestType::kArtifact, {{Tag::kPath, "a"}})));
  EXPECT_TRUE(report.artifacts().empty());
}

TEST(GuestReport, ArtifactsAreBounded) {
  GuestReport report;
  for (std::size_t i = 0; i < kArtifactsMax + 2; ++i) {
    ASSERT_TRUE(report.add(frame_of(GuestType::kArtifact, {{Tag::kPath, std::to_string(i)}})));
  }
  EXPECT_EQ(report.artifacts().size(), kArtifactsMax);
  EXPECT_EQ(report.artifacts().back().path, std::to_string(kArtifactsMax - 1));
  EXPECT_EQ(report.artifacts_left_out(), 2u);
}

TEST(GuestReport, TheWholeChannelIsBounded) {
  GuestReport report;
  const frame::Frame large = frame_of(
      GuestType::kResult, {{Tag::kMediaType, "text/plain"}, {Tag::kText, std::string(1 << 19, 'x')}});
  const std::uint64_t each = frame::kHeaderSize + large.payload.size();
  for (std::uint64_t i = 0; i < kControlBytesMax.count / each; ++i) ASSERT_TRUE(report.add(large));
  const auto over = report.add(large);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(report.broken());
}

TEST(GuestReport, ABeginningIsThatOfAGuestWithAKernelOfItsOwnAndComesOnce) {
  GuestReport report(/*own_kernel=*/true), of_a_jail, with_field(/*own_kernel=*/true);
  EXPECT_TRUE(!report.begun() && report.add(frame_of(GuestType::kBegun, {})) && report.begun());
  EXPECT_FALSE(report.add(frame_of(GuestType::kBegun, {})));
  EXPECT_FALSE(with_field.add(frame_of(GuestType::kBegun, {{Tag::kNumber, u64_bytes(1)}})));
  EXPECT_FALSE(of_a_jail.add(frame_of(GuestType::kBegun, {})));
}

}  // namespace
}  // namespace casemate::outcome
