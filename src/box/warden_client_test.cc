// The engine's end of the protocol against wardens that behave badly: shell scripts that say something,
// or nothing, on descriptor 3. A real warden is met by tests/cleanup and tests/e2e.
#include "box/warden_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/test_support.h"

namespace casemate::box {
namespace {

constexpr milliseconds kLong{20'000};

class BadWarden : public ::testing::Test {
 protected:
  // A warden that is this script. `hello` is in the file $HELLO, as one message for `cat` to send.
  Result<WardenClient> start(const std::string& script) {
    frame::Hello hello;
    hello.ready = 1;
    sys::write_text(dir_ / "hello", std::string(frame::bytes_of(hello)));
    hello.ready = 0;
    frame::put_text(hello.text, "no boxes here: do something");
    sys::write_text(dir_ / "refusal", std::string(frame::bytes_of(hello)));
    const std::string path = dir_ / "warden";
    sys::write_text(path, "#!/bin/sh\nHELLO=" + (dir_ / "hello") + "\nREFUSAL=" + (dir_ / "refusal") + "\n" +
                              script + "\n");
    (void)::chmod(path.c_str(), 0755);
    return WardenClient::start({path, {}});
  }

  // A client whose warden has said that it is ready, and is gone.
  WardenClient orphan() {
    auto client = start("/bin/cat $HELLO >&3");
    EXPECT_TRUE(client->hello(Deadline::in(kLong)));
    EXPECT_TRUE(sys::wait_readable(client->readable(), Deadline::in(kLong)).value());  // its end
    return std::move(*client);
  }

  static BoxEnds ends_of(const sys::Fd& fd) {
    return {fd.get(), fd.get(), fd.get(), fd.get(), fd.get(), fd.get()};
  }

  sys::TestDir dir_;
  sys::Fd null_ = *sys::open_at(AT_FDCWD, "/dev/null", O_RDWR);
};

template <typename T>
void expect_unavailable(const Result<T>& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable) << result.error().message;
}

TEST_F(BadWarden, SaysHello) {
  auto client = start("/bin/cat $HELLO >&3; /bin/cat <&3 >/dev/null");
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->hello(Deadline::in(kLong)));
}

TEST_F(BadWarden, WhoRefusesIsHeard) {
  auto client = start("/bin/cat $REFUSAL >&3");
  const auto hello = client->hello(Deadline::in(kLong));
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kDenied);
  EXPECT_EQ(hello.error().message, "no boxes here: do something");
}

TEST_F(BadWarden, WhoIsNotThereIsNotFound) {
  auto client = WardenClient::start({dir_ / "none", {}});
  if (sys::kVforkIsFork) return expect_unavailable(client->hello(Deadline::in(kLong)));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kNotFound);
}

TEST_F(BadWarden, WhoGoesBeforeItsFirstWordIsGone) {
  auto client = start("exit 1");
  expect_unavailable(client->hello(Deadline::in(kLong)));
}

TEST_F(BadWarden, WhoSaysNothingIsNotWaitedForAnyLonger) {
  auto client = start("/bin/cat <&3 >/dev/null");
  const auto hello = client->hello(Deadline::in(milliseconds{50}));
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kDeadline);
}

TEST_F(BadWarden, WhoseWordsAreNoMessagesIsNotBelieved) {
  for (const std::string words : {"x", "a line that is longer than a header", ""}) {
    auto client = start("/usr/bin/printf '" + words + "' >&3; /bin/cat <&3 >/dev/null");
    EXPECT_FALSE(client->hello(Deadline::in(milliseconds{500}))) << words;
  }
}

// A run whose warden has died ends as our failure, whatever it was about to ask.
TEST_F(BadWarden, WhoHasGoneIsUnavailableForEveryQuestion) {
  WardenClient client = orphan();
  BoxSpec spec;
  spec.arguments = {"/bin/true"};
  expect_unavailable(client.make_box(1, spec, ends_of(null_)));
  expect_unavailable(client.end_box(1, frame::EndCause::kCancelled));
  expect_unavailable(client.open_file(1, "work/x", Deadline::in(kLong)));
  expect_unavailable(client.destroy_box(1, Deadline::in(kLong)));
  expect_unavailable(client.next());
}

TEST_F(BadWarden, WhatDoesNotFitIntoAMessageIsRefused) {
  auto client = start("/bin/cat $HELLO >&3; /bin/cat <&3 >/dev/null");
  BoxSpec spec;
  spec.arguments = {std::string("a\0b", 3)};
  EXPECT_EQ(client->make_box(1, spec, ends_of(null_)).error().code, ErrorCode::kInvalid);
  spec.arguments = {std::string(frame::kStringsSize, 'x')};
  EXPECT_EQ(client->make_box(1, spec, ends_of(null_)).error().code, ErrorCode::kInvalid);
  spec.arguments = {std::string(frame::kStringsSize - 1, 'x')};
  EXPECT_TRUE(client->make_box(1, spec, ends_of(null_)));
  spec.environment = {""};
  EXPECT_EQ(client->make_box(1, spec, ends_of(null_)).error().code, ErrorCode::kInvalid);
  const Deadline soon = Deadline::in(milliseconds{100});
  EXPECT_EQ(client->open_file(1, std::string(4096, 'p'), soon).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client->open_file(1, std::string("p\0", 2), soon).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client->open_file(1, std::string(4095, 'p'), soon).error().code, ErrorCode::kDeadline);
}

TEST_F(BadWarden, InheritsNothingButItsSocketAndOurErrors) {
  const sys::Fd stray(::open("/dev/zero", O_RDONLY));
  auto client = start("/bin/ls /proc/self/fd >" + (dir_ / "list") + " 4>&- ; /usr/bin/env >" +
                      (dir_ / "environment") + "; /bin/cat $HELLO >&3");
  ASSERT_TRUE(client->hello(Deadline::in(kLong)));
  // The shell reads its script on 10; ls has the directory open on the first that is free.
  const std::string list = sys::read_text(dir_ / "list");
  EXPECT_TRUE(list.starts_with("0\n1\n2\n3\n4\n")) << list;
  EXPECT_EQ(list.find("\n5\n"), std::string::npos) << list;
  EXPECT_EQ(sys::read_text(dir_ / "environment").find("HOME="), std::string::npos);
}

}  // namespace
}  // namespace casemate::box
