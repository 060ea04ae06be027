// What the runner is told, read back frame by frame.
#include "engine/feed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "frame/frame.h"
#include "frame/guest.h"
#include "sys/test_support.h"

namespace casemate::engine {
namespace {

using frame::GuestType;
using frame::Tag;

constexpr std::size_t kChunk = 256 << 10;

std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

// Everything that a runner would have understood.
struct Heard {
  std::string program;
  std::vector<std::pair<std::string, std::string>> files;
  std::string name;
  std::vector<std::string> arguments, environment;
  std::uint64_t memory = 0;
  std::size_t starts = 0, frames = 0;
};

void hear(const frame::Frame& frame, Heard& heard) {
  ++heard.frames;
  EXPECT_LE(frame.payload.size(), kFramePayloadMax);
  EXPECT_EQ(heard.starts, 0U) << "something came after the start";
  const std::vector<frame::Field> fields = frame::parse_fields(frame.payload).value();
  switch (static_cast<GuestType>(frame.type)) {
    case GuestType::kProgram:
      EXPECT_TRUE(heard.files.empty());
      heard.program += fields.at(0).bytes;
      break;
    case GuestType::kFile: heard.files.emplace_back(fields.at(0).bytes, ""); break;
    case GuestType::kFileData: heard.files.back().second += fields.at(0).bytes; break;
    case GuestType::kStart:
      ++heard.starts;
      for (const frame::Field& field : fields) {
        switch (static_cast<Tag>(field.tag)) {
          case Tag::kName: heard.name = field.bytes; break;
          case Tag::kArgument: heard.arguments.emplace_back(field.bytes); break;
          case Tag::kEnvironment: heard.environment.emplace_back(field.bytes); break;
          case Tag::kNumber: heard.memory = frame::parse_u64(field.bytes).value(); break;
          default: ADD_FAILURE() << "tag " << field.tag;
        }
      }
      break;
    default: ADD_FAILURE() << "type " << frame.type;
  }
}

// Sends in pieces of at most `piece` bytes, as a socket takes them.
Heard hear_all(const Request& request, std::size_t piece) {
  RunnerFeed feed(request, mib(512));
  frame::Reader reader;
  Heard heard;
  for (;;) {
    const auto pending = feed.pending();
    if (!pending) {
      ADD_FAILURE() << pending.error().message;
      return heard;
    }
    if (pending->empty()) break;
    const std::string_view taken = pending->substr(0, piece);
    EXPECT_TRUE(reader.feed(taken));
    feed.sent(taken.size());
    frame::Frame frame;
    while (reader.next(frame).value()) hear(frame, heard);
  }
  EXPECT_FALSE(reader.partial());
  EXPECT_TRUE(feed.pending()->empty());  // and it stays so
  return heard;
}

class Feed : public ::testing::Test {
 protected:
  InputFile file(const std::string& path, const std::string& content) {
    const std::string source = dir_ / std::to_string(++files_);
    sys::write_text(source, content);
    return {path, *sys::open_at(AT_FDCWD, source, O_RDONLY)};
  }
  sys::TestDir dir_;
  int files_ = 0;
};

TEST_F(Feed, ProgramsOfAnySizeArriveWhole) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, 3 * kChunk + 17}) {
    Request request;
    request.program = text_of(size);
    const Heard heard = hear_all(request, 1 << 20);
    EXPECT_EQ(heard.program, request.program) << size;
    EXPECT_EQ(heard.starts, 1U) << size;
    EXPECT_EQ(heard.frames, std::max<std::size_t>(1, (size + kChunk - 1) / kChunk) + 1) << size;
  }
}

TEST_F(Feed, FilesOfAnySizeArriveWholeAndInOrder) {
  Request request;
  request.program = "pass";
  const std::vector<std::size_t> sizes = {0, 1, kChunk - 1, kChunk, kChunk + 1, 0, 2 * kChunk};
  for (const std::size_t size : sizes)
    request.files.push_back(file("d/" + std::to_string(size), text_of(size)));
  const Heard heard = hear_all(request, 1 << 20);
  ASSERT_EQ(heard.files.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(heard.files[i].first, "d/" + std::to_string(sizes[i]));
    EXPECT_EQ(heard.files[i].second, text_of(sizes[i])) << sizes[i];
  }
}

TEST_F(Feed, ARequestThatIsRunAgainHasItsFilesAgain) {
  Request request;
  request.program = "pass";
  request.files.push_back(file("a", text_of(kChunk + 1)));
  for (int run = 0; run < 3; ++run) {
    const Heard heard = hear_all(request, 1 << 20);
    ASSERT_EQ(heard.files.size(), 1U);
    EXPECT_EQ(heard.files[0].second, text_of(kChunk + 1)) << run;
  }
}

TEST_F(Feed, TheStartCarriesEverythingElse) {
  Request request;
  request.program_name = "analysis.py";
  request.arguments = {"--year", "", "2026", "\xff\n"};
  request.environment = {"A=1", "EMPTY="};
  const Heard heard = hear_all(request, 1 << 20);
  EXPECT_EQ(heard.name, "analysis.py");
  EXPECT_EQ(heard.arguments, request.arguments);
  EXPECT_EQ(heard.environment, request.environment);
  EXPECT_EQ(heard.memory, mib(512).count);
}

TEST_F(Feed, TheLargestStartThatARequestMayHaveFits) {
  Request request;
  for (std::size_t i = 0; i < kArgumentsMax; ++i) request.arguments.emplace_back(256, 'a');
  for (std::size_t i = 0; i < kEnvironmentMax; ++i) request.environment.push_back("N=" + text_of(1000));
  const Heard heard = hear_all(request, 1 << 20);
  EXPECT_EQ(heard.arguments.size(), kArgumentsMax);
  EXPECT_EQ(heard.environment.size(), kEnvironmentMax);
}

TEST_F(Feed, ASlowSocketChangesNothing) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
    Request request;
    request.program = text_of(5000);
    request.files.push_back(file("x", text_of(3000)));
    request.arguments = {"a"};
    const Heard heard = hear_all(request, piece);
    EXPECT_EQ(heard.program, request.program) << piece;
    EXPECT_EQ(heard.files.at(0).second, text_of(3000)) << piece;
    EXPECT_EQ(heard.arguments, request.arguments) << piece;
  }
}

TEST_F(Feed, SaysFirstWhichFilesAreProductsWhenItIsTold) {
  Request request;
  request.program = "pass";
  request.artifacts = {"out/a.png", "../b", std::string(kPathMax, 'c')};
  for (const bool told : {false, true}) {
    RunnerFeed feed(request, mib(512));
    if (told) feed.say_artifacts();
    frame::Reader reader;
    std::vector<std::string> collected;
    std::size_t others = 0;
    for (auto pending = feed.pending(); pending && !pending->empty(); pending = feed.pending()) {
      ASSERT_TRUE(reader.feed(*pending));
      feed.sent(pending->size());
      frame::Frame frame;
      while (reader.next(frame).value()) {
        if (static_cast<GuestType>(frame.type) != GuestType::kCollect) {
          ++others;
          continue;
        }
        EXPECT_EQ(others, 0U) << "it comes first";
        const auto fields = frame::parse_fields(frame.payload).value();
        ASSERT_EQ(fields.size(), 1U);
        EXPECT_EQ(fields[0].tag, static_cast<std::uint16_t>(Tag::kPath));
        collected.emplace_back(fields[0].bytes);
      }
    }
    EXPECT_EQ(collected, told ? request.artifacts : std::vector<std::string>{});
    EXPECT_EQ(others, 2U) << "the program and the start";
  }
}

TEST_F(Feed, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
  Request request;
  request.files.push_back({"data.csv", *sys::open_at(AT_FDCWD, dir_.path(), O_RDONLY | O_DIRECTORY)});
  RunnerFeed feed(request, mib(512));
  for (;;) {
    const auto pending = feed.pending();
    if (!pending) {
      EXPECT_NE(pending.error().message.find("data.csv"), std::string::npos) << pending.error().message;
      return;
    }
    ASSERT_FALSE(pending->empty()) << "it was not read";
    feed.sent(pending->size());
  }
}

}  // namespace
}  // namespace casemate::engine
