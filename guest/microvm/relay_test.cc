#include "microvm/relay.h"

#include <sys/ioctl.h>

#include "base/limits.h"
#include "microvm/relay_scene.h"

namespace casemate::guest {
namespace {

constexpr std::uint32_t kExit3 = 3 << 8;
constexpr std::size_t kPipe = std::size_t{64} << 10;
constexpr std::size_t kSmall = std::size_t{2} << 20;  // more than all buffers between two ends

std::string parked() { return frame_of(GuestType::kParked); }

// ---- What is carried

TEST(Relay, CarriesBothWaysUntilTheProgramHasEnded) {
  Scene scene;
  scene.start();
  ASSERT_TRUE(scene.guest_says(Message::kReady, ""));
  const std::string program =
      frame_of(GuestType::kProgram, std::string(200'000, 'p')) + frame_of(GuestType::kStart);
  ASSERT_TRUE(write_whole(scene.control().first(), program));
  std::string heard;
  while (heard.size() < program.size()) {
    const auto said = scene.guest_hears();
    ASSERT_TRUE(said);
    ASSERT_EQ(said->type, Message::kControl);
    heard += said->payload;
  }
  EXPECT_EQ(heard, program);
  ASSERT_TRUE(scene.guest_says(Message::kOut, "to stdout"));
  ASSERT_TRUE(scene.guest_says(Message::kErr, "to stderr"));
  ASSERT_TRUE(scene.guest_says(Message::kControl, frame_of(GuestType::kDone, "done")));
  ASSERT_TRUE(scene.ends_program(kExit3));
  EXPECT_TRUE(scene.ends_with(kExit3));
  EXPECT_EQ(read_up_to(scene.out().first(), 9), "to stdout");
  EXPECT_EQ(read_up_to(scene.err().first(), 9), "to stderr");
  EXPECT_EQ(read_up_to(scene.control().first(), 12), frame_of(GuestType::kDone, "done"));
}

TEST(Relay, SaysThatNoMoreOfTheEngineIsToCome) {
  Scene scene;
  scene.start();
  ASSERT_EQ(::shutdown(scene.control().first(), SHUT_WR), 0);
  const auto said = scene.guest_hears();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->type, Message::kControlEnd);
  ASSERT_TRUE(scene.guest_says(Message::kControl, frame_of(GuestType::kDone)));
  EXPECT_EQ(read_up_to(scene.control().first(), 8), frame_of(GuestType::kDone));
  EXPECT_FALSE(scene.guest_hears(50)) << "once";
  ASSERT_TRUE(scene.ends_program());
  EXPECT_TRUE(scene.ends_with(0));
}

// What a program printed before its runner's word is there before it, also when the engine is slow to take
// it: the engine believes the word, and reads no further.
TEST(Relay, NoWordOvertakesWhatWasPrintedBeforeIt) {
  for (const bool to_err : {false, true}) {
    Scene scene;
    const std::string printed(kPipe, 'x');
    constexpr std::size_t kTimes = 5;
    std::string all;
    for (std::size_t i = 0; i < kTimes; ++i)
      all += message_of(to_err ? Message::kErr : Message::kOut, printed);
    all += message_of(Message::kControl, frame_of(GuestType::kDone));
    scene.start();
    std::jthread guest([&] { EXPECT_TRUE(scene.guest_says(all)); });
    const int stream = (to_err ? scene.err() : scene.out()).first();
    std::size_t read = 0;
    bool done = false;
    while (!done) {
      std::array<pollfd, 2> items = {pollfd{stream, POLLIN, 0}, {scene.control().first(), POLLIN, 0}};
      ASSERT_GT(::poll(items.data(), items.size(), kDeadlineMs), 0);
      done = items[1].revents != 0;
      if (!done) read += read_up_to(stream, 1000, 0).size();
    }
    int there = 0;
    ASSERT_EQ(::ioctl(stream, FIONREAD, &there), 0);
    EXPECT_EQ(read + static_cast<std::size_t>(there), kTimes * kPipe) << "the word came first";
    read += read_up_to(stream, kTimes * kPipe - read).size();
    EXPECT_EQ(read, kTimes * kPipe);
    guest.join();
    ASSERT_TRUE(scene.ends_program());
    EXPECT_TRUE(scene.ends_with(0));
  }
}

TEST(Relay, AGuestThatFloodsIsHeldBackUntilTheEngineReads) {
  Scene scene;
  scene.start();
  const std::string message = message_of(Message::kOut, std::string(kMessageMax, 'f'));
  std::string left;  // of a message that was taken in part
  std::size_t taken = 0;
  for (pollfd item{scene.port().first(), POLLOUT, 0}; ::poll(&item, 1, 300) > 0;) {
    if (left.empty()) left = message;
    const ssize_t put = ::send(item.fd, left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) left.erase(0, static_cast<std::size_t>(put));
    if (put > 0) taken += static_cast<std::size_t>(put);
    ASSERT_LT(taken, kSmall) << "it takes without end";
  }
  std::jthread guest([&] { EXPECT_TRUE(scene.guest_says(left) && scene.ends_program()); });
  const std::size_t printed = (taken + left.size()) / message.size() * kMessageMax;
  EXPECT_EQ(read_up_to(scene.out().first(), printed).size(), printed);
  guest.join();
  EXPECT_TRUE(scene.ends_with(0));
}

TEST(Relay, AnEngineIsHeldBackUntilTheGuestReads) {
  Scene scene;
  scene.start();
  const std::string frame = frame_of(GuestType::kFileData, std::string(100'000, 'f'));
  std::string left;
  std::size_t taken = 0;
  for (pollfd item{scene.control().first(), POLLOUT, 0}; ::poll(&item, 1, 300) > 0;) {
    if (left.empty()) left = frame;
    const ssize_t put = ::send(item.fd, left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) left.erase(0, static_cast<std::size_t>(put));
    if (put > 0) taken += static_cast<std::size_t>(put);
    ASSERT_LT(taken, kSmall) << "it takes without end";
  }
  ASSERT_TRUE(scene.ends_program()) << "the guest is heard all the same";
  EXPECT_TRUE(scene.ends_with(0));
}

TEST(Relay, AnEngineThatTakesNothingAnyMoreIsNotWaitedFor) {
  Scene scene;
  scene.out().end_first();
  scene.err().end_first();
  ASSERT_EQ(::shutdown(scene.control().first(), SHUT_RDWR), 0);
  ASSERT_EQ(::signal(SIGPIPE, SIG_IGN) == SIG_ERR, false);  // as the launcher does
  scene.start();
  for (const Message type : {Message::kOut, Message::kErr})
    ASSERT_TRUE(scene.guest_says(type, std::string(1000, 'x')));
  ASSERT_TRUE(scene.guest_says(Message::kControl, frame_of(GuestType::kDone)));
  ASSERT_TRUE(scene.ends_program());
  EXPECT_TRUE(scene.ends_with(0));
}

TEST(Relay, AGuestDoesNotSayInTheLaunchersNameHowItsProgramEnded) {
  Scene scene;
  scene.start();
  ASSERT_TRUE(scene.guest_says(
      Message::kControl,
      frame_of(GuestType::kEnded, {{Tag::kWaitStatus, frame::u64_bytes(0)}}) + artifact("late")));
  EXPECT_EQ(read_up_to(scene.control().first(), 8), broken_header());
  ASSERT_TRUE(scene.ends_program(kExit3));
  EXPECT_TRUE(scene.ends_with(kExit3)) << "and no file is asked for";
}

// ---- Products

class Products : public ::testing::Test {
 protected:
  std::string asked() {
    const auto said = scene_.guest_hears();
    return said && said->type == Message::kFile ? said->payload : "none";
  }
  bool give(const std::string& content) {
    const FileKind kind{S_IFREG | 0644, 1, content.size()};
    const std::uint64_t at = 0;
    return scene_.guest_says(Message::kFileKind, bytes_of(kind)) &&
           scene_.guest_says(Message::kFileData, std::string(bytes_of(at)) + content) && end(0);
  }
  bool end(std::uint32_t failed) { return scene_.guest_says(Message::kFileEnd, bytes_of(failed)); }
  std::string text(const std::string& path) { return sys::read_text(scene_.layer() / path); }
  bool there(const std::string& path) { return std::filesystem::exists(scene_.layer() / path); }
  Scene scene_;
};

TEST_F(Products, AreFetchedOneByOneWhenTheProgramHasEnded) {
  scene_.start();
  ASSERT_TRUE(write_whole(scene_.control().first(), collect("of-the-engine") + frame_of(GuestType::kStart)));
  const auto start = scene_.guest_hears();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->payload, frame_of(GuestType::kStart));
  ASSERT_TRUE(scene_.guest_says(Message::kControl,
                                artifact("out/a") + artifact("/tmp/b") + artifact("of-the-engine")));
  EXPECT_FALSE(scene_.guest_hears(50)) << "not while it runs";
  ASSERT_TRUE(scene_.ends_program(kExit3));
  EXPECT_EQ(asked(), "work/out/a");
  EXPECT_FALSE(scene_.guest_hears(50)) << "one at a time";
  ASSERT_TRUE(give("the content of a"));
  EXPECT_EQ(asked(), "work/of-the-engine");
  ASSERT_TRUE(end(ENOENT));
  EXPECT_EQ(asked(), "tmp/b");
  EXPECT_FALSE(scene_.result(50)) << "it is not there yet";
  ASSERT_TRUE(give(""));
  EXPECT_TRUE(scene_.ends_with(kExit3));
  EXPECT_EQ(text("work/out/a"), "the content of a");
  EXPECT_FALSE(there("work/of-the-engine"));
  EXPECT_TRUE(there("tmp/b"));
}

TEST_F(Products, OneThatFailsHalfwayIsLeftOutAndTheNextIsNot) {
  scene_.start();
  ASSERT_TRUE(scene_.guest_says(Message::kControl, artifact("a") + artifact("b")) && scene_.ends_program());
  EXPECT_EQ(asked(), "work/b");
  const FileKind kind{S_IFREG | 0644, 1, 10};
  const std::uint64_t at = 0;
  ASSERT_TRUE(scene_.guest_says(Message::kFileKind, bytes_of(kind)));
  ASSERT_TRUE(scene_.guest_says(Message::kFileData, std::string(bytes_of(at)) + "half"));
  ASSERT_TRUE(end(EIO));
  EXPECT_EQ(asked(), "work/a");
  ASSERT_TRUE(give("a"));
  EXPECT_TRUE(scene_.ends_with(0));
  EXPECT_FALSE(there("work/b"));
  EXPECT_EQ(text("work/a"), "a");
}

TEST_F(Products, AMachineThatEndsMeanwhileHasBrokenItsWordAndLeavesNoHalfFile) {
  scene_.start();
  ASSERT_TRUE(scene_.guest_says(Message::kControl, artifact("a")) && scene_.ends_program());
  EXPECT_EQ(asked(), "work/a");
  const FileKind kind{S_IFREG | 0644, 1, 10};
  ASSERT_TRUE(scene_.guest_says(Message::kFileKind, bytes_of(kind)));
  ASSERT_EQ(::shutdown(scene_.port().first(), SHUT_RDWR), 0);
  EXPECT_TRUE(scene_.ends_for_a_breach());
}

// ---- A guest that breaks its word

struct Breach {
  const char* what;
  std::string said;
};

std::string ended() {
  const GuestEnded value{};
  return message_of(Message::kEnded, bytes_of(value));
}
std::string kind_of(std::uint64_t size) {
  const FileKind kind{S_IFREG | 0644, 1, size};
  return message_of(Message::kFileKind, bytes_of(kind));
}
std::string file_end() {
  const std::uint32_t failed = 0;
  return message_of(Message::kFileEnd, bytes_of(failed));
}
std::string done() {
  const std::uint32_t failed = 0;
  return message_of(Message::kDone, bytes_of(failed));
}

TEST(Relay, AGuestThatBreaksItsWordEndsIt) {
  const std::string file =
      message_of(Message::kControl, artifact("a")) + ended();  // then it is asked for "a"
  const std::string data = message_of(Message::kFileData, std::string(12, '\0'));
  const std::string cut = ended().substr(0, ended().size() - 1);
  const std::vector<Breach> breaches = {
      {"garbage", std::string(100, '\xee')},
      {"a message that is too long", std::string("\x12\0\0\0\1\0\1\0", 8)},
      {"no type", message_of(static_cast<Message>(0), "")},
      {"an unknown type", message_of(static_cast<Message>(99), "x")},
      {"the launcher's own: a clock", message_of(Message::kClock, "x")},
      {"the launcher's own: a file", message_of(Message::kFile, "a")},
      {"the launcher's own: an end", message_of(Message::kControlEnd, "")},
      {"it could not be made", message_of(Message::kFailed, "why")},
      {"an answer to nothing", done()},
      {"an end of no size", message_of(Message::kEnded, "")},
      {"an end of another size", message_of(Message::kEnded, std::string(sizeof(GuestEnded) + 1, '\0'))},
      {"a kind of a file that nobody asked for", kind_of(3)},
      {"data likewise", data},
      {"its end likewise", file_end()},
      {"two ends", ended() + ended()},
      {"two ends, with a file to come", file + ended()},
      {"output after the end", file + message_of(Message::kOut, "x")},
      {"errors after the end", file + message_of(Message::kErr, "x")},
      {"control after the end", file + message_of(Message::kControl, artifact("b"))},
      {"a start after the end", file + message_of(Message::kReady, "")},
      {"a kind of another size", file + message_of(Message::kFileKind, "x")},
      {"two kinds", file + kind_of(3) + kind_of(3)},
      {"data before a kind", file + data},
      {"an end of a file of another size", file + message_of(Message::kFileEnd, "x")},
      {"two ends of a file", file + message_of(Message::kControl, artifact("b")) + file_end() + file_end()},
      {"half a message, and its end", "half"},
      {"half an end", cut},
  };
  for (const Breach& breach : breaches) {
    SCOPED_TRACE(breach.what);
    Scene scene;
    scene.start();
    ASSERT_TRUE(scene.guest_says(breach.said));
    ASSERT_EQ(::shutdown(scene.port().first(), SHUT_WR), 0);
    EXPECT_TRUE(scene.ends_for_a_breach());
  }
}

// Of a whole run with a product, at each byte.
TEST(Relay, AMachineThatEndsAtAnyPointEndsIt) {
  const std::uint64_t at = 0;
  const std::string whole = message_of(Message::kReady, "") + message_of(Message::kOut, "out") +
                            message_of(Message::kControl, artifact("a")) + ended() + kind_of(3) +
                            message_of(Message::kFileData, std::string(bytes_of(at)) + "abc") + file_end();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    Scene scene;
    scene.start();
    ASSERT_TRUE(scene.guest_says(whole.substr(0, size)));
    ASSERT_EQ(::shutdown(scene.port().first(), SHUT_RDWR), 0);
    const auto how = scene.result();
    ASSERT_TRUE(how) << "it goes on after " << size << " bytes";
    EXPECT_EQ(how->has_value(), size == whole.size()) << size;
  }
}

// ---- A machine that parks

TEST(Relay, StopsAMachineThatWaitsAndLetsItRunWhenItsProgramComes) {
  Scene scene(/*parks=*/true);
  scene.start();
  for (int i = 1; i < frame::kParkRounds; ++i) {
    ASSERT_TRUE(scene.guest_says(Message::kControl, parked()));
    ASSERT_EQ(read_up_to(scene.control().first(), 8), parked());
    ASSERT_TRUE(write_whole(scene.control().first(), frame_of(GuestType::kAgain)));
    const auto again = scene.guest_hears();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->payload, frame_of(GuestType::kAgain));
  }
  EXPECT_EQ(read_up_to(scene.qemu(), 1, 50), "") << "not before it waits";
  ASSERT_TRUE(scene.guest_says(Message::kControl, parked()));
  ASSERT_EQ(read_up_to(scene.control().first(), 8), parked());
  const std::string stop = R"({"execute":"stop"})", go_on = R"({"execute":"cont"})";
  EXPECT_EQ(read_up_to(scene.qemu(), stop.size()), stop);
  ASSERT_TRUE(write_whole(scene.control().first(), frame_of(GuestType::kStart)));
  EXPECT_EQ(read_up_to(scene.qemu(), go_on.size()), go_on);
  const auto clock = scene.guest_hears(), start = scene.guest_hears();
  ASSERT_TRUE(clock && start);
  EXPECT_EQ(clock->type, Message::kClock) << "before the program sees an old time";
  EXPECT_EQ(clock->payload.size(), sizeof(ClockTime));
  EXPECT_EQ(start->payload, frame_of(GuestType::kStart));
  ASSERT_TRUE(scene.guest_says(Message::kControl, artifact("a") + parked()) && scene.ends_program());
  ASSERT_TRUE(scene.guest_hears());
  ASSERT_TRUE(scene.guest_says(file_end()));
  EXPECT_TRUE(scene.ends_with(0));
  EXPECT_EQ(read_up_to(scene.qemu(), 1, 50), "") << "once";
}

TEST(Relay, AMachineThatGivesBackAnotherNameThanItsOwnHasBrokenItsWord) {
  for (const int name : {0, 7}) {
    Scene scene(/*parks=*/false, Nonce{7});
    scene.start();
    GuestEnded how;
    how.run = {static_cast<unsigned char>(name)};
    ASSERT_TRUE(scene.guest_says(Message::kEnded, bytes_of(how)));
    const auto result = scene.result();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->has_value(), name == 7);
  }
}

TEST(Relay, AnEngineThatIsGoneLetsAStoppedMachineRunToItsEnd) {
  Scene scene(/*parks=*/true);
  scene.start();
  std::string all;
  for (int i = 0; i < frame::kParkRounds; ++i) all += parked();
  ASSERT_TRUE(scene.guest_says(Message::kControl, all));
  ASSERT_EQ(read_up_to(scene.control().first(), all.size()), all);
  ASSERT_EQ(::shutdown(scene.control().first(), SHUT_RDWR), 0);
  const auto clock = scene.guest_hears(), end = scene.guest_hears();
  ASSERT_TRUE(clock && end);
  EXPECT_EQ(end->type, Message::kControlEnd);
}

}  // namespace
}  // namespace casemate::guest
