// QEMU's side of its monitor is a script here: what it says is written before it is asked.
#include "microvm/monitor.h"

#include <sys/stat.h>

#include <thread>

#include "microvm/test_support.h"

namespace casemate::guest {
namespace {

constexpr int kFailed = 125;
const std::string kGreeting = R"({"QMP": {"version": {}, "capabilities": ["oob"]}})"
                              "\r\n";
const std::string kYes = R"({"return": {}})"
                         "\r\n";
const std::string kEvent = R"({"timestamp": {"seconds": 1, "microseconds": 2}, "event": "STOP"})"
                           "\r\n";
const std::string kCompleted = R"({"return": {"status": "completed", "total-time": 3}})"
                               "\r\n";
const std::string kActive = R"({"return": {"status": "active"}})"
                            "\r\n";

std::string named(const std::string& command) { return R"({"execute":")" + command + R"(")"; }

class Monitors : public ::testing::Test {
 protected:
  void peer_says(const std::string& text) { ASSERT_TRUE(write_whole(ends_.second(), text)); }
  // What it was told by now, without waiting.
  std::string told() {
    std::string text;
    std::array<char, 4096> buffer{};
    // One that brings a file ends a read.
    for (ssize_t got = 0; (got = ::recv(ends_.second(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(got));
    return text;
  }
  // Of which what it was told to do, in order.
  std::vector<std::string> commands() {
    std::vector<std::string> names;
    const std::string text = told(), key = R"("execute":")";
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
      at += key.size();
      names.push_back(text.substr(at, text.find('"', at) - at));
    }
    return names;
  }
  Ends ends_;
  Monitor monitor_{ends_.first()};
};
using Names = std::vector<std::string>;

TEST_F(Monitors, BeginsWithTheGreetingAndMemoryThatStaysWhereItIs) {
  peer_says(kGreeting + kYes + kYes);
  monitor_.begin();
  const std::string text = told();
  EXPECT_TRUE(text.starts_with(named("qmp_capabilities"))) << text;
  EXPECT_NE(text.find(named("migrate-set-capabilities")), std::string::npos) << text;
  EXPECT_NE(text.find(R"("capability":"x-ignore-shared","state":true)"), std::string::npos) << text;
}

TEST_F(Monitors, EventsAreNoAnswers) {
  peer_says(kGreeting + kEvent + kYes + kEvent + kEvent + kYes + kEvent + kYes);
  monitor_.begin();
  EXPECT_EQ(monitor_.ask(R"({"execute":"cont"})") + "\n", kYes);
}

TEST_F(Monitors, SavesWhatWasStoppedAndEndsTheMachine) {
  peer_says(kYes + kEvent + kYes + kYes + kActive + kActive + kCompleted);
  monitor_.save(STDIN_FILENO);
  EXPECT_EQ(commands(),
            (Names{"stop", "getfd", "migrate", "query-migrate", "query-migrate", "query-migrate", "quit"}));
}

TEST_F(Monitors, LoadsIntoAMachineThatWaits) {
  peer_says(kYes + kYes + kCompleted);
  monitor_.load(STDIN_FILENO);
  EXPECT_EQ(commands(), (Names{"getfd", "migrate-incoming", "query-migrate"}));
}

TEST_F(Monitors, TheFileGoesWithItsCommand) {
  Ends file(Ends::Kind::kPipe);
  peer_says(kYes);
  (void)monitor_.ask(R"({"execute":"getfd"})", file.first());
  std::array<char, 256> text{};
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ASSERT_GT(::recvmsg(ends_.second(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), 0);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  ASSERT_NE(header, nullptr);
  ASSERT_EQ(header->cmsg_type, SCM_RIGHTS);
  ASSERT_EQ(header->cmsg_len, CMSG_LEN(sizeof(int)));
  int given = -1;
  std::memcpy(&given, CMSG_DATA(header), sizeof(given));
  struct stat ours {
  }, theirs{};
  ASSERT_EQ(::fstat(file.first(), &ours), 0);
  ASSERT_EQ(::fstat(given, &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
  (void)::close(given);
  EXPECT_EQ(CMSG_NXTHDR(&message, const_cast<cmsghdr*>(header)), nullptr);
}

TEST_F(Monitors, LinesComeWholeHoweverTheyAreCut) {
  std::jthread peer([this] {
    for (const char byte : kGreeting + kYes + kEvent + kYes) {
      if (!write_whole(ends_.second(), {&byte, 1})) return;
    }
  });
  monitor_.begin();
  peer.join();
}

TEST_F(Monitors, WhatIsToldIsNotWaitedFor) {
  monitor_.tell(R"({"execute":"stop"})");
  EXPECT_EQ(commands(), Names{"stop"});
  peer_says(kYes + kEvent + R"({"return": {"half)");
  monitor_.forget_answers();
  monitor_.tell(R"({"execute":"cont"})");
  EXPECT_EQ(commands(), Names{"cont"});
  peer_says(kYes);
  EXPECT_EQ(monitor_.ask(R"({"execute":"cont"})") + "\n", kYes);
}

TEST_F(Monitors, OneThatNeverStopsSayingIsNotWaitedFor) {
  std::jthread peer([this] {
    while (write_whole(ends_.second(), std::string(1 << 16, 'x'))) {
    }
  });
  for (int i = 0; i < 10; ++i) monitor_.forget_answers();
  ends_.end_first();
  peer.join();
}

using MonitorsEnd = Monitors;

TEST_F(MonitorsEnd, ARefusalEndsThisProcessAndSaysWhatItWas) {
  peer_says(kEvent + R"({"error": {"class": "GenericError", "desc": "no such thing"}})"
                     "\n");
  EXPECT_EXIT((void)monitor_.ask(R"({"execute":"cont"})"), testing::ExitedWithCode(kFailed),
              "the microvm could not be made: .*no such thing");
}

TEST_F(MonitorsEnd, AMigrationThatFailsEndsThisProcess) {
  peer_says(kYes + kYes +
            R"({"return": {"status": "failed", "error-desc": "bad section"}})"
            "\n");
  EXPECT_EXIT(monitor_.load(STDIN_FILENO), testing::ExitedWithCode(kFailed), "bad section");
}

TEST_F(MonitorsEnd, AnEndOfTheMonitorEndsThisProcess) {
  peer_says(kGreeting + kYes.substr(0, 5));
  ASSERT_EQ(::shutdown(ends_.second(), SHUT_WR), 0);
  EXPECT_EXIT(monitor_.begin(), testing::ExitedWithCode(kFailed), "hear QEMU's monitor: Connection reset");
  ends_.end_second();
  EXPECT_EXIT(monitor_.tell("x"), testing::ExitedWithCode(kFailed), "speak to QEMU: Broken pipe");
}

TEST_F(MonitorsEnd, ALineWithoutEndEndsThisProcess) {
  std::jthread peer([this] {
    while (write_whole(ends_.second(), std::string(1 << 16, 'x'))) {
    }
  });
  EXPECT_EXIT(monitor_.begin(), testing::ExitedWithCode(kFailed), "hear QEMU's monitor: Message too long");
  ends_.end_first();
  peer.join();
}

TEST_F(MonitorsEnd, WhatQemuSaysIsRepeatedInPart) {
  peer_says(R"({"error": ")" + std::string(5000, 'e') + "\"}\n");
  EXPECT_EXIT((void)monitor_.ask("x"), testing::ExitedWithCode(kFailed), "e{200,299}: Protocol error");
}

}  // namespace
}  // namespace casemate::guest
