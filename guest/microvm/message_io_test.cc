#include "microvm/message_io.h"

#include "microvm/test_support.h"

namespace casemate::guest {
namespace {

using Next = MessageReader::Next;

// What is written into a socket, read with one read for each time that it is asked.
class Reading : public ::testing::Test {
 protected:
  void SetUp() override { set_nonblocking(ends_.first()); }
  void give(std::string_view bytes) { ASSERT_TRUE(write_whole(ends_.second(), bytes)); }
  bool read() { return reader_.read(ends_.first()); }
  Ends ends_;
  MessageReader reader_;
  ReceivedMessage said_;
};

TEST_F(Reading, MessagesComeWholeHoweverTheyAreCut) {
  const std::string payload(300, 'p');
  const std::string stream = message_of(Message::kOut, payload) + message_of(Message::kReady, "") +
                             message_of(Message::kErr, "e") + message_of(Message::kControl, payload);
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{100}, stream.size()}) {
    std::vector<std::pair<Message, std::string>> heard;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      give(std::string_view(stream).substr(at, piece));
      ASSERT_TRUE(read());
      while (reader_.next(said_) == Next::kMessage) heard.emplace_back(said_.type, said_.payload);
    }
    EXPECT_EQ(heard, (std::vector<std::pair<Message, std::string>>{{Message::kOut, payload},
                                                                   {Message::kReady, ""},
                                                                   {Message::kErr, "e"},
                                                                   {Message::kControl, payload}}))
        << piece;
  }
}

TEST_F(Reading, TheLongestMessageIsOneAndALongerOneIsNone) {
  const std::string longest = message_of(Message::kOut, std::string(kMessageMax, 'x'));
  for (std::size_t at = 0; at < longest.size(); at += 4096) {
    give(std::string_view(longest).substr(at, 4096));
    ASSERT_TRUE(read());
    EXPECT_EQ(reader_.next(said_), at + 4096 < longest.size() ? Next::kNone : Next::kMessage);
  }
  EXPECT_EQ(said_.payload.size(), kMessageMax);
  for (const std::uint32_t length : {static_cast<std::uint32_t>(kMessageMax + 1), 0x80000000U, 0xffffffffU}) {
    Ends ends;
    MessageReader reader;
    const MessageHeader header{static_cast<std::uint32_t>(Message::kOut), length};
    ASSERT_TRUE(write_whole(ends.second(), bytes_of(header)));
    ASSERT_TRUE(reader.read(ends.first()));
    EXPECT_EQ(reader.next(said_), Next::kBroken) << length;
    EXPECT_EQ(reader.next(said_), Next::kBroken) << "and it stays so";
  }
}

TEST_F(Reading, NothingThereIsNoEnd) {
  EXPECT_TRUE(read());
  EXPECT_EQ(reader_.next(said_), Next::kNone);
}

TEST_F(Reading, AnEndWithinAMessageIsAnEnd) {
  give(message_of(Message::kReady, "") + message_of(Message::kOut, "abc").substr(0, 10));
  ends_.end_second();
  ASSERT_TRUE(read());
  EXPECT_EQ(reader_.next(said_), Next::kMessage);
  EXPECT_EQ(reader_.next(said_), Next::kNone);
  EXPECT_FALSE(read());
  EXPECT_EQ(reader_.next(said_), Next::kNone);
}

TEST_F(Reading, ADescriptorThatIsNoneIsAnEnd) { EXPECT_FALSE(reader_.read(-1)); }

// One read brings so much and no more, however much is there.
TEST_F(Reading, TakesABoundedAmountAtATime) {
  const int size = 1 << 20;
  ASSERT_EQ(::setsockopt(ends_.second(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
  std::string stream;
  while (stream.size() < 100'000) stream += message_of(Message::kOut, std::string(1000, 'x'));
  give(stream);
  ASSERT_TRUE(read());
  std::size_t taken = 0;
  while (reader_.next(said_) == Next::kMessage) taken += sizeof(MessageHeader) + said_.payload.size();
  EXPECT_LE(taken, std::size_t{1} << 16);
  EXPECT_GT(taken, 0U);
}

TEST(ReadValue, TakesItsSizeAlone) {
  ClockTime clock;
  const ClockTime given{5, 7};
  const std::string bytes(bytes_of(given));
  EXPECT_FALSE(read_value("", clock));
  EXPECT_FALSE(read_value(bytes + "x", clock));
  EXPECT_FALSE(read_value(bytes.substr(1), clock));
  ASSERT_TRUE(read_value(bytes, clock));
  EXPECT_EQ(clock.nanoseconds, 7);
}

}  // namespace
}  // namespace casemate::guest
