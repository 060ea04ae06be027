#include "microvm/control_filter.h"

#include <random>

#include "base/limits.h"
#include "microvm/test_support.h"

namespace casemate::guest {
namespace {

using From = ControlFilter::From;
using Files = std::set<std::string>;

std::string through(ControlFilter& filter, std::string_view bytes,
                    std::size_t piece = std::string_view::npos) {
  std::string out;
  while (!bytes.empty()) {
    out += filter.take(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return out;
}

std::string ended(std::uint64_t status = 0) {
  return frame_of(GuestType::kEnded, {{Tag::kWaitStatus, frame::u64_bytes(status)}});
}

TEST(ControlFilter, HandsWholeFramesOnHoweverTheyCome) {
  const std::string said = frame_of(GuestType::kResult, std::string(3000, 'r')) + artifact("out/a.png") +
                           frame_of(GuestType::kDone) +
                           frame_of(GuestType::kResult, std::string(kFramePayloadMax, 'x'));
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{4096}, said.size()}) {
    ControlFilter filter(From::kGuest);
    EXPECT_EQ(through(filter, said, piece), said) << piece;
    EXPECT_EQ(filter.files(), (Files{"work/out/a.png"})) << piece;
  }
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    ControlFilter filter(From::kGuest);
    std::string out;
    for (std::string_view left = said; !left.empty();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 70000, left.size());
      out += filter.take(left.substr(0, piece));
      left.remove_prefix(piece);
    }
    EXPECT_EQ(out, said) << round;
  }
}

TEST(ControlFilter, HoldsBackWhatIsNotWholeYet) {
  ControlFilter filter(From::kGuest);
  const std::string said = frame_of(GuestType::kResult, "abc");
  EXPECT_EQ(filter.take(said.substr(0, said.size() - 1)), "");
  EXPECT_EQ(filter.take(said.substr(said.size() - 1)), said);
}

TEST(ControlFilter, NotesPathsOfProductsAsTheyLieBeneathTheLayer) {
  ControlFilter filter(From::kGuest);
  const std::string nul("a\0b", 3);
  for (const std::string& path : std::vector<std::string>{
           "a.png", "./b//c", "/vol/work/a.png", "/work/d", "/tmp/e", "/vol/tmp/e", "/vol/home/f", "../g",
           "h/../i", "/etc/passwd", nul, "", "/", "/vol", "/vol/../etc"})
    EXPECT_EQ(filter.take(artifact(path)), artifact(path))
        << path;  // whoever collects says what is wrong with it
  EXPECT_EQ(filter.files(), (Files{"work", "work/a.png", "work/b/c", "work/d", "tmp/e", "home/f"}));
}

TEST(ControlFilter, NotesEachPathOfAFrame) {
  ControlFilter filter(From::kGuest);
  (void)filter.take(
      frame_of(GuestType::kArtifact, {{Tag::kPath, "a"}, {Tag::kName, "b"}, {Tag::kPath, "c"}}));
  EXPECT_EQ(filter.files(), (Files{"work/a", "work/c"}));
}

TEST(ControlFilter, NotesNoMoreFilesThanItMay) {
  ControlFilter filter(From::kGuest);
  for (std::size_t i = 0; i < ControlFilter::kFilesMax + 10; ++i)
    EXPECT_NE(filter.take(artifact("a" + std::to_string(i))), "") << i;
  EXPECT_EQ(filter.files().size(), ControlFilter::kFilesMax);
}

// 512 paths of a frame's size each would be half a gibibyte.
TEST(ControlFilter, NotesNoPathThatIsLongerThanAPath) {
  ControlFilter filter(From::kGuest);
  EXPECT_NE(filter.take(artifact(std::string(kPathMax + 1, 'a'))), "");
  EXPECT_NE(filter.take(artifact(std::string(kFramePayloadMax - 8, 'a'))), "");
  EXPECT_EQ(filter.files(), Files{});
  (void)filter.take(artifact(std::string(kPathMax, 'a')));
  EXPECT_EQ(filter.files().size(), 1U);
}

struct Breach {
  const char* what;
  std::string said;
};

std::vector<Breach> breaches() {
  std::string reserved = frame_of(GuestType::kDone), oversized(frame::kHeaderSize, '\0');
  reserved[6] = 1;
  const auto size = static_cast<std::uint32_t>(kFramePayloadMax + 1);
  std::memcpy(oversized.data(), &size, sizeof(size));
  return {{"the launcher's word", ended()},
          {"likewise, with more", frame_of(GuestType::kEnded, "")},
          {"a reserved word", reserved},
          {"an oversized frame", oversized},
          {"a size of all ones", broken_header()},
          {"a product of half a field", frame_of(GuestType::kArtifact, "abc")},
          {"a product of a field that is longer",
           frame_of(GuestType::kArtifact, std::string("\2\0\0\0\xff\0\0\0", 8))}};
}

TEST(ControlFilter, AfterABreachSaysOneThingThatIsNoFrameAndThenNothing) {
  const std::string good = frame_of(GuestType::kResult, "good");
  for (const Breach& breach : breaches()) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::string::npos}) {
      ControlFilter filter(From::kGuest);
      EXPECT_EQ(through(filter, good + breach.said + good, piece), good + broken_header()) << breach.what;
      EXPECT_EQ(filter.take(good), "") << breach.what;
      EXPECT_EQ(filter.take(artifact("late")), "") << breach.what;
      EXPECT_EQ(filter.files(), Files{}) << breach.what;
    }
  }
}

TEST(ControlFilter, WhatItSaysOfABreachIsABreachToWhoeverReadsIt) {
  ControlFilter filter(From::kGuest);
  frame::Reader reader;
  ASSERT_TRUE(reader.feed(filter.take(frame_of(GuestType::kDone) + ended())));
  frame::Frame frame;
  EXPECT_TRUE(reader.next(frame).value());
  EXPECT_EQ(frame.type, static_cast<std::uint16_t>(GuestType::kDone));
  EXPECT_FALSE(reader.next(frame));
}

TEST(ControlFilter, KeepsBackWhatTheEngineWantsCollected) {
  const std::string run = frame_of(GuestType::kProgram, "pass") + frame_of(GuestType::kStart);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{9}, std::string::npos}) {
    ControlFilter filter(From::kEngine);
    EXPECT_EQ(through(filter, collect("out/a") + collect("../b") + collect("/tmp/c") + run, piece), run)
        << piece;
    EXPECT_EQ(filter.files(), (Files{"work/out/a", "tmp/c"})) << piece;
  }
}

TEST(ControlFilter, HandsOnAllElseOfTheEngine) {
  ControlFilter filter(From::kEngine);
  for (const GuestType type :
       {GuestType::kProgram, GuestType::kFile, GuestType::kFileData, GuestType::kStart, GuestType::kAgain,
        GuestType::kArtifact, GuestType::kEnded, GuestType::kParked})
    EXPECT_EQ(filter.take(frame_of(type, "abc")), frame_of(type, "abc"));
  EXPECT_EQ(filter.files(), Files{});
  EXPECT_EQ(filter.parked(), 0);
}

TEST(ControlFilter, CountsHowOftenTheGuestWaitsAsFarAsItMatters) {
  ControlFilter filter(From::kGuest);
  for (int i = 1; i < frame::kParkRounds + 5; ++i) {
    EXPECT_EQ(filter.take(frame_of(GuestType::kParked)), frame_of(GuestType::kParked));
    EXPECT_EQ(filter.parked(), std::min(i, frame::kParkRounds));
  }
}

}  // namespace
}  // namespace casemate::guest
