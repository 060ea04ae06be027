// Clients that are slow, silent, or many.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>

#include "http_server/test_service.h"

namespace casemate::http_server {
namespace {

class SlowTest : public testing::Test {
 protected:
  // One byte every few milliseconds until the server ends it. The answer, and how long it took.
  Reply trickle(RawClient& client, const std::string& bytes, milliseconds& took) {
    const Instant begin = now();
    for (std::size_t i = 0; !client.is_ended(milliseconds(20)) && now() - begin < milliseconds(8000); ++i) {
      if (peer_is_gone(client.socket())) break;
      if (!client.send(bytes.substr(i % bytes.size(), 1))) break;
    }
    took = std::chrono::duration_cast<milliseconds>(now() - begin);
    return client.read_reply();
  }
  Options options_ = test_options();
  Service service_;
};

TEST_F(SlowTest, AHeadHasOneDeadlineHoweverItTrickles) {
  options_.head_time = milliseconds(300);
  service_.start(options_);
  RawClient client(service_.port());
  ASSERT_TRUE(client.send("GET /healthz HTTP/1.1\r\nX: "));
  milliseconds took{};
  const Reply reply = trickle(client, "x", took);
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.code(), "head_late");
  EXPECT_GE(took, milliseconds(250));
  EXPECT_LT(took, milliseconds(3000));
  EXPECT_EQ(service_.server().counts().late, 1U);
}

TEST_F(SlowTest, WhoSaysNothingIsEndedWithoutAWord) {
  options_.head_time = milliseconds(100);
  service_.start(options_);
  RawClient client(service_.port());
  EXPECT_TRUE(client.is_ended());
  EXPECT_EQ(service_.server().counts().late, 0U);
}

TEST_F(SlowTest, AnIdleConnectionIsKeptLongerThanAHeadMayTake) {
  options_.head_time = milliseconds(100);
  options_.idle_time = milliseconds(600);
  service_.start(options_);
  RawClient client(service_.port());
  EXPECT_EQ(client.ask(get("/healthz")).status, 200);
  EXPECT_FALSE(client.is_ended(milliseconds(250)));
  EXPECT_EQ(client.ask(get("/healthz")).status, 200);
  const Instant begin = now();
  EXPECT_TRUE(client.is_ended());
  EXPECT_GE(now() - begin, milliseconds(500));
}

TEST_F(SlowTest, ABodyHasALeastRate) {
  options_.body_time = milliseconds(300);
  options_.least_rate = 100'000;
  service_.start(options_);
  RawClient client(service_.port());
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"));
  milliseconds took{};
  const Reply reply = trickle(client, "x", took);
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.code(), "body_late");
  EXPECT_LT(took, milliseconds(3000));
  EXPECT_EQ(service_.echoes, 0);
}

TEST_F(SlowTest, ABodyThatKeepsTheRateMayTakeLonger) {
  options_.body_time = milliseconds(500);
  options_.least_rate = 500;  // so a thousand bytes have 2.5 s
  service_.start(options_);
  RawClient client(service_.port());
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(client.send(std::string(200, 'x')));
    (void)::poll(nullptr, 0, 200);
  }
  EXPECT_EQ(client.read_reply().status, 200);
}

// Chunks of extensions carry nothing, so they gain no time.
TEST_F(SlowTest, AChunkedBodyIsMeasuredByWhatItCarries) {
  options_.body_time = milliseconds(300);
  service_.start(options_);
  RawClient client(service_.port());
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"));
  milliseconds took{};
  EXPECT_EQ(trickle(client, "1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n", took).status, 408);
  EXPECT_LT(took, milliseconds(3000));
}

TEST_F(SlowTest, AClientThatDoesNotReadItsAnswerIsEnded) {
  options_.write_time = milliseconds(200);
  options_.least_rate = gib(1).count;
  service_.add("GET", "/large", 0, [](const Request&, const Client&) {
    Answer answer;
    answer.body.assign(50'000'000, 'x');
    return answer;
  });
  service_.start(options_);
  RawClient client(service_.port());
  ASSERT_TRUE(client.send(get("/large")));
  EXPECT_TRUE(comes_true([&] { return service_.server().counts().unread == 1; }));
  EXPECT_TRUE(comes_true([&] { return service_.server().counts().connections == 0; }));
}

// Nothing is begun while a body comes, so who sends one slowly gives way too.
TEST_F(SlowTest, SlowBodiesDoNotKeepOthersOut) {
  options_.connections_max = 4;
  service_.start(options_);
  std::deque<RawClient> crowd;
  std::uint64_t requests = 0;
  for (int round = 0; round < 5; ++round) {
    // Each has said what it wants and begun its body before the next comes.
    for (const char* path : {"/echo", "/secret", "/echo", "/echo"}) {
      ASSERT_TRUE(
          crowd.emplace_back(service_.port())
              .send(std::string("POST ") + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 999\r\n\r\nx"));
      ++requests;
      ASSERT_TRUE(comes_true([&] { return service_.server().counts().requests == requests; }));
    }
    RawClient fresh(service_.port());
    EXPECT_EQ(fresh.ask(post("/echo", "hello")).body, "hello");
    ++requests;
  }
  EXPECT_EQ(service_.server().counts().turned_away, 0U);
}

// Two thousand that send a byte now and then, and threads for sixteen. Whoever asks is served.
TEST_F(SlowTest, AWellBehavedClientIsServedAmongTwoThousandOthers) {
  constexpr std::size_t kCrowd = 2000;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < kCrowd + 200) GTEST_SKIP() << "needs RLIMIT_NOFILE of " << kCrowd + 200;
  const rlim_t before = files.rlim_cur;
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, kCrowd + 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);

  service_.start(options_);
  RawClient kept(service_.port());
  EXPECT_EQ(kept.ask(get("/healthz")).status, 200);
  std::deque<RawClient> crowd;
  milliseconds longest{};
  const auto ask = [&](RawClient& client) {
    const Instant begin = now();
    EXPECT_EQ(client.ask(post("/echo", "hello")).body, "hello");
    longest = std::max(longest, std::chrono::duration_cast<milliseconds>(now() - begin));
  };
  for (std::size_t i = 0; i < kCrowd; ++i) {
    (void)crowd.emplace_back(service_.port()).send(i % 2 == 0 ? "GET /healthz HTTP/1.1\r\nX: " : "G");
    if (i % 50 != 49) continue;
    for (std::size_t j = 0; j < crowd.size(); j += 10) (void)crowd[j].send("x");
    RawClient fresh(service_.port());
    ask(fresh);
    ask(kept);
  }
  EXPECT_LT(longest, milliseconds(5000));
  const Counts counts = service_.server().counts();
  EXPECT_LE(counts.connections, options_.connections_max);
  EXPECT_GE(counts.evicted, kCrowd - options_.connections_max);
  EXPECT_EQ(counts.turned_away, 0U);
  std::printf("slowest answer among %zu slow clients: %lld ms\n", kCrowd,
              static_cast<long long>(longest.count()));
  crowd.clear();
  files.rlim_cur = before;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace
}  // namespace casemate::http_server
