#include "sys/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sys/test_support.h"

namespace casemate::sys {
namespace {

bool closes_on_exec(const Fd& fd) { return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0; }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesWhatItOwnsOnce) {
  const std::size_t before = open_descriptors();
  {
    Fd fd = *open_at(AT_FDCWD, "/dev/null", O_RDONLY);
    EXPECT_TRUE(fd);
    EXPECT_TRUE(closes_on_exec(fd));
    const int number = fd.get();
    Fd other = std::move(fd);
    EXPECT_FALSE(fd);  // NOLINT: what a move leaves is part of the contract
    EXPECT_EQ(other.get(), number);
    other = *open_at(AT_FDCWD, "/dev/zero", O_RDONLY);
    EXPECT_FALSE(is_open(number) && other.get() != number);
    Fd& same = other;
    other = std::move(same);
    EXPECT_TRUE(other);
    other.reset();
    EXPECT_FALSE(other);
    const Fd released(Fd(::dup(0)).release());
    EXPECT_TRUE(is_open(released.get()));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Fd, EverythingMadeIsCloseOnExec) {
  for (auto* make : {&make_pipe, &make_stream_pair, &make_seqpacket_pair}) {
    const auto pair = make();
    ASSERT_TRUE(pair);
    EXPECT_TRUE(closes_on_exec(pair->first));
    EXPECT_TRUE(closes_on_exec(pair->second));
  }
}

TEST(Read, GivesWhatIsThereAndThenTheEnd) {
  Pair pipe = *make_pipe();
  ASSERT_TRUE(write_all(pipe.second, "abc", Deadline::in(milliseconds{1000})));
  std::array<char, 2> buffer{};
  EXPECT_EQ(read_some(pipe.first, buffer).value(), 2U);
  EXPECT_EQ(read_some(pipe.first, buffer).value(), 1U);
  ASSERT_TRUE(set_nonblocking(pipe.first));
  const auto nothing = read_some(pipe.first, buffer);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().errno_value, EAGAIN);
  pipe.second.reset();
  EXPECT_EQ(read_some(pipe.first, buffer).value(), 0U);
}

TEST(Write, GivesUpAtTheDeadlineWhenNobodyReads) {
  const Pair pipe = *make_pipe();
  ASSERT_TRUE(set_nonblocking(pipe.second));
  const std::string much(1 << 20, 'x');
  const auto written = write_all(pipe.second, much, Deadline::in(milliseconds{30}));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kDeadline);
}

TEST(Write, SaysThatTheReaderIsGone) {
  (void)::signal(SIGPIPE, SIG_IGN);
  Pair pipe = *make_pipe();
  pipe.first.reset();
  const auto written = write_all(pipe.second, "x", Deadline::in(milliseconds{1000}));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().errno_value, EPIPE);
}

TEST(ReadFile, TakesUpToItsBoundAndNoMore) {
  const TestDir dir;
  for (const std::size_t size : {0UL, 1UL, 4095UL, 4096UL, 4097UL, 20'000UL}) {
    const std::string text(size, 'a');
    write_text(dir / "f", text);
    const auto exact = read_file_at(AT_FDCWD, dir / "f", size);
    ASSERT_TRUE(exact) << size;
    EXPECT_EQ(*exact, text);
    if (size == 0) continue;
    const auto more = read_file_at(AT_FDCWD, dir / "f", size - 1);
    ASSERT_FALSE(more) << size;
    EXPECT_EQ(more.error().code, ErrorCode::kExhausted);
  }
  EXPECT_EQ(read_file_at(AT_FDCWD, dir / "gone", 10).error().errno_value, ENOENT);
}

TEST(WriteFile, WritesToOneThatExists) {
  const TestDir dir;
  const auto gone = write_file_at(AT_FDCWD, dir / "f", "x");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().errno_value, ENOENT);
  write_text(dir / "f", "");
  ASSERT_TRUE(write_file_at(AT_FDCWD, dir / "f", "limit"));
  EXPECT_EQ(read_text(dir / "f"), "limit");
  // What the kernel takes a part of is a failure, not half a success.
  EXPECT_FALSE(write_file_at(AT_FDCWD, "/dev/full", "x"));
}

TEST(WaitReadable, WaitsUntilTheDeadlineAndNoLonger) {
  Pair pipe = *make_pipe();
  const Instant begun = now();
  EXPECT_FALSE(wait_readable(pipe.first, Deadline::in(milliseconds{20})).value());
  EXPECT_GE(now() - begun, milliseconds{20});
  EXPECT_FALSE(wait_readable(pipe.first, Deadline::at(begun)).value());
  ASSERT_TRUE(write_all(pipe.second, "x", Deadline::in(milliseconds{1000})));
  EXPECT_TRUE(wait_readable(pipe.first, Deadline::at(begun)).value());
  pipe.second.reset();
  std::array<char, 8> buffer{};
  EXPECT_EQ(read_some(pipe.first, buffer).value(), 1U);
  EXPECT_TRUE(wait_readable(pipe.first, Deadline::in(milliseconds{1000})).value());  // the end is news too
}

TEST(Messages, CarryBytesAndDescriptors) {
  const std::size_t before = open_descriptors();
  {
    const Pair pair = *make_seqpacket_pair();
    const Fd file = *open_at(AT_FDCWD, "/dev/zero", O_RDONLY);
    for (std::size_t count = 0; count <= kMessageFdsMax; ++count) {
      const std::vector<int> fds(count, file.get());
      ASSERT_TRUE(send_message(pair.first, "hello", fds)) << count;
      const auto message = receive_message(pair.second, 5);
      ASSERT_TRUE(message) << count;
      EXPECT_EQ(message->bytes, "hello");
      EXPECT_FALSE(message->end);
      ASSERT_EQ(message->fds.size(), count);
      for (const Fd& fd : message->fds) {
        EXPECT_TRUE(closes_on_exec(fd));
        std::array<char, 1> byte{'x'};
        EXPECT_EQ(read_some(fd, byte).value(), 1U);
        EXPECT_EQ(byte[0], '\0');
      }
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Messages, RefuseToSendMoreDescriptorsThanFit) {
  const Pair pair = *make_seqpacket_pair();
  const std::vector<int> fds(kMessageFdsMax + 1, 0);
  const auto sent = send_message(pair.first, "x", fds);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kInternal);
}

// As a hostile peer would, who does not use our send_message().
void send_raw(const Fd& socket, std::string bytes, std::size_t count) {
  std::vector<char> control(CMSG_SPACE(sizeof(int) * count));
  iovec part{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* item = CMSG_FIRSTHDR(&header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof(int) * count);
  const std::vector<int> fds(count, 0);
  std::memcpy(CMSG_DATA(item), fds.data(), sizeof(int) * count);
  ASSERT_GE(::sendmsg(socket.get(), &header, 0), 0) << errno;
}

TEST(Messages, TooManyDescriptorsAreAllClosedAndAnError) {
  const Pair pair = *make_seqpacket_pair();
  const std::size_t before = open_descriptors();
  for (const std::size_t count : {kMessageFdsMax + 1, kMessageFdsMax + 2, std::size_t{100}}) {
    send_raw(pair.first, "x", count);
    const auto message = receive_message(pair.second, 100);
    ASSERT_FALSE(message) << count;
    EXPECT_EQ(message.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(open_descriptors(), before) << count;
  }
}

TEST(Messages, OneThatIsTooLongIsAnErrorAndItsDescriptorsAreClosed) {
  const Pair pair = *make_seqpacket_pair();
  const std::size_t before = open_descriptors();
  for (const std::size_t size : {9UL, 10UL, 5000UL}) {
    send_raw(pair.first, std::string(size, 'x'), 3);
    const auto message = receive_message(pair.second, 8);
    ASSERT_FALSE(message) << size;
    EXPECT_EQ(message.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(open_descriptors(), before) << size;
  }
  ASSERT_TRUE(send_message(pair.first, "12345678", {}));
  EXPECT_EQ(receive_message(pair.second, 8)->bytes, "12345678");
}

TEST(Messages, TellTheEndFromAnEmptyMessageWithDescriptors) {
  Pair pair = *make_seqpacket_pair();
  send_raw(pair.first, "", 1);
  const auto empty = receive_message(pair.second, 8);
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->end);
  EXPECT_EQ(empty->fds.size(), 1U);
  ASSERT_TRUE(set_nonblocking(pair.second));
  EXPECT_EQ(receive_message(pair.second, 8).error().errno_value, EAGAIN);
  pair.first.reset();
  EXPECT_TRUE(receive_message(pair.second, 8)->end);
  // To a peer that is gone: an error, and no signal that would end us.
  const auto sent = send_message(pair.second, "x", {});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().errno_value, EPIPE);
}

}  // namespace
}  // namespace casemate::sys
