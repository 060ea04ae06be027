#include "outcome/capture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "json/utf8.h"

namespace casemate::outcome {
namespace {

constexpr Stream kOut = Stream::kStdout;
constexpr Stream kErr = Stream::kStderr;

OutputCapture capture_of(std::uint64_t cap) { return OutputCapture({.cap = Bytes{cap}, .spool = {}}); }

std::string joined(const CombinedOutput& combined) {
  std::string text;
  for (const OutputPiece& piece : combined.pieces) text += piece.text;
  return text;
}

std::string joined(const CombinedOutput& combined, Stream stream) {
  std::string text;
  for (const OutputPiece& piece : combined.pieces) {
    if (piece.stream == stream) text += piece.text;
  }
  return text;
}

// Case B023: five prints to each stream in turn.
struct Alternation {
  std::string out;
  std::string err;
  std::string both;
  std::vector<std::pair<Stream, std::uint64_t>> hints;
};

Alternation alternation(int times) {
  Alternation made;
  for (int i = 0; i < times; ++i) {
    made.hints.emplace_back(kOut, made.out.size());
    made.hints.emplace_back(kErr, made.err.size());
    const std::string out = "out " + std::to_string(i) + "\n";
    const std::string err = "err " + std::to_string(i) + "\n";
    made.out += out;
    made.err += err;
    made.both += out + err;
  }
  return made;
}

TEST(OutputCapture, HintsGiveTheTrueOrderWhenStreamsArriveGrouped) {
  const Alternation made = alternation(5);
  for (const bool hints_first : {true, false}) {
    for (const bool out_first : {true, false}) {
      OutputCapture capture;
      const auto give_hints = [&] {
        for (const auto& [stream, total] : made.hints) capture.hint(stream, total);
      };
      if (hints_first) give_hints();
      capture.feed(out_first ? kOut : kErr, out_first ? made.out : made.err);
      capture.feed(out_first ? kErr : kOut, out_first ? made.err : made.out);
      if (!hints_first) give_hints();
      const CombinedOutput combined = capture.combined();
      EXPECT_EQ(joined(combined), "out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nout 4\nerr 4\n");
      ASSERT_EQ(combined.pieces.size(), 10u);
      EXPECT_EQ(combined.pieces[0].stream, kOut);
      EXPECT_EQ(combined.pieces[9].stream, kErr);
      EXPECT_EQ(capture.text(kOut).text, made.out);
      EXPECT_EQ(capture.text(kErr).text, made.err);
      EXPECT_EQ(capture.hints_ignored(), 0u);
    }
  }
}

TEST(OutputCapture, WithoutHintsTheOrderIsTheOrderOfArrival) {
  OutputCapture capture;
  capture.feed(kOut, "a");
  capture.feed(kErr, "1");
  capture.feed(kErr, "2");
  capture.feed(kOut, "b");
  const std::vector<OutputSegment> expected = {{kOut, 0, 1}, {kErr, 0, 2}, {kOut, 1, 1}};
  EXPECT_EQ(capture.segments(), expected);
  EXPECT_EQ(joined(capture.combined()), "a12b");
}

TEST(OutputCapture, ARunnerStartsAtStdoutWithoutSayingSo) {
  const Alternation made = alternation(5);
  for (const bool out_first : {true, false}) {
    OutputCapture capture;
    for (std::size_t i = 1; i < made.hints.size(); ++i)
      capture.hint(made.hints[i].first, made.hints[i].second);
    capture.feed(out_first ? kOut : kErr, out_first ? made.out : made.err);
    capture.feed(out_first ? kErr : kOut, out_first ? made.err : made.out);
    EXPECT_EQ(joined(capture.combined()), made.both);
    EXPECT_EQ(capture.hints_ignored(), 0u);
  }
}

TEST(OutputCapture, BytesBeforeAStreamsFirstHintKeepTheirArrival) {
  OutputCapture capture;
  capture.feed(kErr, "boot ");  // before the runner said anything
  capture.feed(kOut, "A");
  capture.hint(kOut, 0);
  capture.hint(kErr, 5);
  capture.hint(kOut, 1);
  capture.feed(kOut, "B");
  capture.feed(kErr, "x");
  EXPECT_EQ(joined(capture.combined()), "boot AxB");
}

TEST(OutputCapture, AStreamWithoutHintsKeepsItsArrivalAmidTheOther) {
  OutputCapture capture;
  capture.hint(kOut, 0);
  capture.feed(kOut, "a");
  capture.feed(kErr, "1");  // a child's: the runner knows nothing of it
  capture.feed(kOut, "b");
  EXPECT_EQ(joined(capture.combined()), "a1b");
}

TEST(OutputCapture, IgnoresImpossibleHints) {
  OutputCapture capture;
  capture.hint(kOut, 0);
  capture.hint(kErr, 0);
  capture.hint(kOut, 4);
  capture.hint(kErr, 1u << 30);  // beyond the end: covers nothing
  capture.hint(kOut, 3);         // falls: ignored
  capture.hint(kErr, 0);         // falls: ignored
  capture.feed(kErr, "12");
  capture.feed(kOut, "abcdef");
  EXPECT_EQ(joined(capture.combined()), "abcd12ef");
  EXPECT_EQ(capture.hints_ignored(), 2u);
}

// Any hints and any order of arrival: each stream keeps its own order and loses nothing.
TEST(OutputCapture, HostileHintsNeverLoseOrRepeatAByte) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    OutputCapture capture = capture_of(64 + random() % 200);
    for (int i = 0, steps = 1 + static_cast<int>(random() % 60); i < steps; ++i) {
      const Stream stream = random() % 2 == 0 ? kOut : kErr;
      if (random() % 2 == 0) {
        const std::uint64_t total = random() % 8 == 0 ? random() : random() % 400;
        capture.hint(stream, total);
      } else {
        capture.feed(stream, std::string(random() % 30, static_cast<char>('a' + random() % 26)));
      }
    }
    std::uint64_t out_at = 0;
    std::uint64_t err_at = 0;
    for (const OutputSegment& segment : capture.segments()) {
      std::uint64_t& at = segment.stream == kOut ? out_at : err_at;
      ASSERT_EQ(segment.offset, at);
      ASSERT_GT(segment.size, 0u);
      at += segment.size;
    }
    ASSERT_EQ(out_at, capture.bytes(kOut));
    ASSERT_EQ(err_at, capture.bytes(kErr));
    const CombinedOutput combined = capture.combined();
    ASSERT_EQ(joined(combined, kOut), capture.text(kOut).text);
    ASSERT_EQ(joined(combined, kErr), capture.text(kErr).text);
  }
}

// The naive model: everything in memory, in the order in which it was written.
struct Written {
  std::vector<OutputSegment> order;
  std::array<std::string, 2> bytes;
  std::vector<std::pair<Stream, std::uint64_t>> hints;
};

Written random_program(std::mt19937_64& random) {
  static const std::vector<std::string> kWords = {"a", "line\n", "\u00f8", "\u2500\n", "\U0001F600", "\n"};
  Written made;
  for (int i = 0, writes = 1 + static_cast<int>(random() % 40); i < writes; ++i) {
    const Stream stream = random() % 2 == 0 ? kOut : kErr;
    std::string& bytes = made.bytes[static_cast<std::size_t>(stream) - 1];
    if (made.order.empty() || made.order.back().stream != stream) {
      made.order.push_back({stream, bytes.size(), 0});
      made.hints.emplace_back(stream, bytes.size());
    }
    for (int n = 0, count = 1 + static_cast<int>(random() % 4); n < count; ++n) {
      const std::string& word = kWords[random() % kWords.size()];
      bytes += word;
      made.order.back().size += word.size();
    }
  }
  return made;
}

// Delivers the program's bytes in random pieces, streams and hints racing one another.
void deliver(const Written& made, std::mt19937_64& random, OutputCapture& capture) {
  std::array<std::size_t, 2> at{};
  std::size_t hint_at = 0;
  while (at[0] < made.bytes[0].size() || at[1] < made.bytes[1].size() || hint_at < made.hints.size()) {
    const std::uint64_t choice = random() % 3;
    if (choice == 2) {
      if (hint_at == made.hints.size()) continue;
      capture.hint(made.hints[hint_at].first, made.hints[hint_at].second);
      ++hint_at;
      continue;
    }
    const std::string& bytes = made.bytes[choice];
    const std::string piece = bytes.substr(at[choice], 1 + random() % 24);
    capture.feed(choice == 0 ? kOut : kErr, piece);
    at[choice] += piece.size();
  }
}

TEST(OutputCapture, AgreesWithTheNaiveModelHoweverBytesArrive) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Written made = random_program(random);
    OutputCapture capture = capture_of(4096);
    deliver(made, random, capture);
    ASSERT_EQ(capture.segments(), made.order);
    ASSERT_EQ(capture.exact(kOut), made.bytes[0]);
    ASSERT_EQ(capture.exact(kErr), made.bytes[1]);
    std::string both;
    for (const OutputSegment& segment : made.order) {
      const std::string& bytes = made.bytes[static_cast<std::size_t>(segment.stream) - 1];
      both += bytes.substr(segment.offset, segment.size);
    }
    ASSERT_EQ(joined(capture.combined()), both);
    ASSERT_FALSE(capture.text(kOut).lossy);
  }
}

TEST(OutputCapture, KeepsHeadAndTailOnCharacterBoundaries) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::uint64_t cap = 64 + random() % 64;
    std::string whole;
    while (whole.size() < cap + 40 + random() % 2000) whole += random() % 3 == 0 ? "\U0001F600" : "\u2500";
    OutputCapture capture = capture_of(cap);
    for (std::size_t at = 0; at < whole.size();) {
      const std::string piece = whole.substr(at, 1 + random() % 300);
      capture.feed(kOut, piece);
      at += piece.size();
    }
    const StreamText text = capture.text(kOut);
    ASSERT_TRUE(text.truncated);
    ASSERT_FALSE(text.lossy) << text.text;
    ASSERT_EQ(text.bytes, whole.size());
    const std::size_t marker = text.text.find("\n[");
    ASSERT_NE(marker, std::string::npos);
    const std::size_t after = text.text.find("]\n", marker) + 2;
    const std::string head = text.text.substr(0, marker);
    const std::string tail = text.text.substr(after);
    ASSERT_TRUE(whole.starts_with(head));
    ASSERT_TRUE(whole.ends_with(tail));
    ASSERT_GE(head.size() + 3, cap / 2);
    ASSERT_GE(tail.size() + 3, cap - cap / 2);
    ASSERT_LE(head.size() + tail.size(), cap);
    ASSERT_EQ(text.text.substr(marker, after - marker),
              dropped_marker(kOut, whole.size() - head.size() - tail.size()));
  }
}

TEST(OutputCapture, AtTheCapNothingIsDropped) {
  OutputCapture capture = capture_of(100);
  capture.feed(kOut, std::string(100, 'x'));
  EXPECT_FALSE(capture.text(kOut).truncated);
  EXPECT_EQ(capture.text(kOut).text, std::string(100, 'x'));
  EXPECT_EQ(capture.exact(kOut), std::string(100, 'x'));
  capture.feed(kOut, "y");
  EXPECT_TRUE(capture.text(kOut).truncated);
  EXPECT_EQ(capture.text(kOut).text,
            std::string(50, 'x') + dropped_marker(kOut, 1) + std::string(49, 'x') + "y");
  EXPECT_EQ(capture.exact(kOut), "");
}

TEST(OutputCapture, CountsLines) {
  OutputCapture capture = capture_of(64);
  EXPECT_EQ(capture.text(kOut).lines, 0u);
  capture.feed(kOut, "a\nb");
  EXPECT_EQ(capture.text(kOut).lines, 2u);
  capture.feed(kOut, "\n");
  EXPECT_EQ(capture.text(kOut).lines, 2u);
  for (int i = 0; i < 1000; ++i) capture.feed(kOut, "row\n");
  EXPECT_EQ(capture.text(kOut).lines, 1002u);
}

TEST(OutputCapture, ACharacterSplitOverReadsIsWhole) {
  OutputCapture capture;
  capture.feed(kOut, "\xc3");
  capture.feed(kErr, "!");
  capture.feed(kOut, "\xb8\n");
  EXPECT_EQ(capture.text(kOut).text, "\u00f8\n");
  EXPECT_FALSE(capture.text(kOut).lossy);
  EXPECT_EQ(joined(capture.combined()), "!\u00f8\n");
}

TEST(OutputCapture, BytesThatAreNoTextAreMarkedLossy) {
  OutputCapture capture;
  capture.feed(kOut, "\xc4\xe3\xba\xc3\nstill here\n");
  EXPECT_TRUE(capture.text(kOut).lossy);
  EXPECT_NE(capture.text(kOut).text.find("\nstill here\n"), std::string::npos);
  EXPECT_EQ(capture.exact(kOut), "\xc4\xe3\xba\xc3\nstill here\n");
  EXPECT_FALSE(capture.text(kErr).lossy);
}

TEST(OutputCapture, SpoolsTheExactBytesOfATruncatedStream) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::array<std::string, 2> spooled;
    OutputCapture capture({.cap = Bytes{64}, .spool = [&](Stream stream, std::string_view bytes) {
                             spooled[static_cast<std::size_t>(stream) - 1] += bytes;
                           }});
    std::array<std::string, 2> whole;
    for (int i = 0, steps = static_cast<int>(random() % 60); i < steps; ++i) {
      const std::size_t stream = random() % 2;
      std::string piece;
      for (std::size_t n = random() % 200; n > 0; --n) piece.push_back(static_cast<char>(random()));
      whole[stream] += piece;
      capture.feed(stream == 0 ? kOut : kErr, piece);
    }
    for (std::size_t stream = 0; stream < 2; ++stream) {
      const bool truncated = whole[stream].size() > 64;
      ASSERT_EQ(spooled[stream], truncated ? whole[stream].substr(0, 64 * 64) : "");
    }
  }
}

TEST(OutputCapture, SaysWhenOutputEndsTheRun) {
  OutputCapture capture = capture_of(100);
  EXPECT_EQ(capture.end_bytes(), 100 * kOutputEndFactor);
  capture.feed(kOut, std::string(100 * kOutputEndFactor, 'x'));
  capture.feed(kErr, std::string(50, 'x'));
  EXPECT_FALSE(capture.over_end());
  capture.feed(kOut, "x");
  EXPECT_TRUE(capture.over_end());
  EXPECT_EQ(capture.largest(), 100 * kOutputEndFactor + 1);
  EXPECT_EQ(OutputCapture({.cap = Bytes{~std::uint64_t{0} / 2}, .spool = {}}).end_bytes(), ~std::uint64_t{0});
}

TEST(OutputCapture, FloodsOfHintsAndSwitchesAreBoundedAndKeepBothEnds) {
  const int times = 3 * static_cast<int>(kOutputSegmentsMax);
  const Alternation made = alternation(times);
  for (const bool hinted : {true, false}) {
    OutputCapture capture = capture_of(1 << 20);
    if (hinted) {
      for (const auto& [stream, total] : made.hints) capture.hint(stream, total);
      capture.feed(kOut, made.out);
      capture.feed(kErr, made.err);
    } else {
      for (int i = 0; i < times; ++i) {
        capture.feed(kOut, "out " + std::to_string(i) + "\n");
        capture.feed(kErr, "err " + std::to_string(i) + "\n");
      }
    }
    EXPECT_LE(capture.segments().size(), kOutputSegmentsMax + 4);
    const CombinedOutput combined = capture.combined();
    EXPECT_LE(combined.pieces.size(), kOutputSegmentsMax);
    const std::string text = joined(combined);
    EXPECT_TRUE(text.starts_with("out 0\nerr 0\nout 1\nerr 1\n"));
    const std::string last = std::to_string(times - 1);
    EXPECT_TRUE(text.ends_with("out " + last + "\nerr " + last + "\n"));
    EXPECT_EQ(capture.hints_ignored() > 0, hinted);
  }
}

TEST(OutputCapture, CombinedIsBoundedWhenHintsAndArrivalsMultiply) {
  OutputCapture capture = capture_of(1 << 20);
  // Uncovered stderr bytes between every pair of stdout bytes, and hints for stdout alone.
  for (std::uint64_t i = 0; i < 4 * kOutputSegmentsMax; ++i) {
    capture.feed(kOut, "o");
    capture.feed(kErr, "e");
    capture.hint(kOut, i);
    capture.hint(kErr, (std::uint64_t{1} << 40) + i);
  }
  const CombinedOutput combined = capture.combined();
  EXPECT_LE(combined.pieces.size(), kOutputSegmentsMax);
  EXPECT_EQ(capture.bytes(kOut) + capture.bytes(kErr), 8 * kOutputSegmentsMax);
}

TEST(OutputCapture, TwoHundredMegabytesCostLittle) {
  const std::string piece(64 << 10, 'a');
  OutputCapture capture;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3200; ++i) capture.feed(i % 2 == 0 ? kOut : kErr, piece);
  const auto took = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds",
                 static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_EQ(capture.largest(), std::uint64_t{1600} * (64 << 10));
  EXPECT_EQ(capture.text(kOut).text.size(), (64u << 10) + dropped_marker(kOut, 1599ull * (64 << 10)).size());
  EXPECT_LT(took, std::chrono::seconds(5));  // some tens of milliseconds; the bound is for sanitizers
}

}  // namespace
}  // namespace casemate::outcome
