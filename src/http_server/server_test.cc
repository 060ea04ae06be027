#include "http_server/server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

#include "http_server/test_service.h"
#include "sys/test_support.h"

namespace casemate::http_server {
namespace {

class ServerTest : public testing::Test {
 protected:
  Service service_;
};

TEST_F(ServerTest, AnswersOneRequestAfterTheOtherOnOneConnection) {
  service_.start();
  RawClient client(service_.port());
  for (int i = 0; i < 3; ++i) {
    const Reply reply = client.ask(get("/healthz"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, R"({"ok":true})");
    EXPECT_EQ(reply.field("Connection"), "");
    EXPECT_TRUE(reply.field("Date").ends_with(" GMT"));
  }
  EXPECT_EQ(service_.server().counts().accepted, 1U);
  EXPECT_EQ(service_.server().counts().requests, 3U);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  service_.start();
  RawClient client(service_.port());
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    bytes += post("/echo", "length " + std::to_string(i));
    bytes += "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n" +
             std::to_string(100 + i) + "\r\n0\r\n\r\n\r\n";
    bytes += get("/nowhere");
  }
  ASSERT_TRUE(client.send(bytes));
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(client.read_reply().body, "length " + std::to_string(i));
    EXPECT_EQ(client.read_reply().body, std::to_string(100 + i));
    EXPECT_EQ(client.read_reply().status, 404);
  }
}

TEST_F(ServerTest, ARequestMayComeByteByByte) {
  service_.start();
  RawClient client(service_.port());
  for (const char c : post("/echo", "hello")) ASSERT_TRUE(client.send(std::string(1, c)));
  EXPECT_EQ(client.read_reply().body, "hello");
}

TEST_F(ServerTest, EndsAConnectionThatIsNotToBeKept) {
  service_.start();
  RawClient closes(service_.port());
  EXPECT_EQ(closes.ask(get("/healthz", "Connection: x, Close\r\n")).field("Connection"), "close");
  EXPECT_TRUE(closes.is_ended());
  for (const char* fields : {"\r\n", "Connection: keep-alive\r\n\r\n"}) {
    RawClient old(service_.port());
    const Reply reply = old.ask(std::string("GET /healthz HTTP/1.0\r\n") + fields);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.field("Connection"), "close");
    EXPECT_TRUE(old.is_ended());
  }
}

TEST_F(ServerTest, HeadHasTheLengthAndNoBody) {
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send("HEAD /healthz HTTP/1.1\r\nHost: h\r\n\r\n"));
  const Reply reply = client.read_reply(/*has_body=*/false);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Length"), "11");
  EXPECT_EQ(client.ask(get("/healthz")).status, 200) << "nothing came between";
}

TEST_F(ServerTest, NoContentHasNoLength) {
  service_.add("GET", "/none", 0, [](const Request&, const Client&) {
    Answer answer;
    answer.status = 204;
    answer.body = "not sent";
    return answer;
  });
  service_.start();
  RawClient client(service_.port());
  const Reply reply = client.ask(get("/none"));
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.field("Content-Length"), "");
  EXPECT_EQ(client.ask(get("/healthz")).status, 200);
}

TEST_F(ServerTest, TellsAClientThatAsksToGoOn) {
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(
      client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_reply().status, 100);
  EXPECT_EQ(client.ask("hello").body, "hello");
  // And not one whose body would not be taken, or is not to be seen.
  ASSERT_TRUE(
      client.send("POST /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  const Reply refused = client.read_reply();
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("Connection"), "close") << "it is not known whether the body comes";
  EXPECT_TRUE(client.is_ended());
}

TEST_F(ServerTest, ARefusalBeforeTheBodyKeepsTheConnectionWhereTheBodyIsSmall) {
  service_.start();
  RawClient client(service_.port());
  EXPECT_EQ(client.ask(post("/secret", "GET /healthz HTTP/1.1\r\n\r\n")).status, 401);
  EXPECT_EQ(client.ask(post("/echo", "hello")).body, "hello") << "the body was not taken for a request";
  RawClient large(service_.port());
  ASSERT_TRUE(large.send("POST /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"));
  const Reply reply = large.read_reply();
  EXPECT_EQ(reply.status, 401) << "without one byte of it";
  EXPECT_EQ(reply.field("Connection"), "close");
}

TEST_F(ServerTest, AnAnswerThatCannotBeSentIsAFaultOfOurs) {
  service_.add("GET", "/split", 0, [](const Request&, const Client&) {
    Answer answer;
    answer.fields.push_back({"X", "a\r\nSet-Cookie: b"});
    return answer;
  });
  service_.start();
  RawClient client(service_.port());
  const Reply reply = client.ask(get("/split"));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.head.find("Set-Cookie"), std::string::npos);
}

TEST_F(ServerTest, ALargeAnswerArrivesWhole) {
  service_.add("GET", "/large", 0, [](const Request&, const Client&) {
    Answer answer;
    answer.body.assign(20'000'000, 'x');
    return answer;
  });
  service_.start();
  RawClient client(service_.port());
  const Reply reply = client.ask(get("/large"));
  EXPECT_TRUE(reply.whole);
  EXPECT_EQ(reply.body.size(), 20'000'000U);
}

TEST_F(ServerTest, BodiesInMemoryAreBoundedTogether) {
  Options options = test_options();
  options.bodies_max = Bytes{1500};
  service_.start(options);
  RawClient first(service_.port()), second(service_.port());
  ASSERT_TRUE(
      first.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + std::string(900, 'x')));
  // The first one's bytes may not be there yet.
  ASSERT_TRUE(comes_true([&] {
    RawClient probe(service_.port());
    const Reply reply = probe.ask(post("/echo", std::string(700, 'y')));
    return reply.status == 503 && reply.code() == "body_memory" && reply.field("Retry-After") == "1";
  }));
  EXPECT_EQ(second.ask(post("/echo", std::string(500, 'z'))).status, 200);
  EXPECT_EQ(first.ask(std::string(100, 'x')).body.size(), 1000U);
  EXPECT_EQ(second.ask(post("/echo", std::string(1000, 'z'))).status, 200) << "what was held is given back";
}

TEST_F(ServerTest, AllBusyIsToldAtOnce) {
  Options options = test_options();
  options.connections_max = 2;
  service_.start(options);
  RawClient first(service_.port()), second(service_.port());
  ASSERT_TRUE(first.send(get("/hold")));
  ASSERT_TRUE(second.send(get("/hold")));
  ASSERT_TRUE(comes_true([&] { return service_.holding == 2; }));
  RawClient third(service_.port());
  const Reply reply = third.ask(get("/healthz"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.code(), "busy");
  EXPECT_EQ(reply.field("Retry-After"), "1");
  EXPECT_TRUE(third.is_ended());
  EXPECT_EQ(service_.server().counts().turned_away, 1U);
  service_.let_go = true;
  EXPECT_EQ(first.read_reply().status, 200);
  EXPECT_EQ(second.read_reply().status, 200);
}

TEST_F(ServerTest, AWaitingConnectionGivesWayToANewOne) {
  Options options = test_options();
  options.connections_max = 2;
  service_.start(options);
  RawClient kept(service_.port()), silent(service_.port());
  EXPECT_EQ(kept.ask(get("/healthz")).status, 200);
  ASSERT_TRUE(comes_true([&] { return service_.server().counts().connections == 2; }));
  RawClient third(service_.port());
  EXPECT_EQ(third.ask(get("/healthz")).status, 200);
  EXPECT_TRUE(silent.is_ended()) << "it never asked anything";
  EXPECT_EQ(kept.ask(get("/healthz")).status, 200);
  EXPECT_EQ(service_.server().counts().evicted, 1U);
}

TEST_F(ServerTest, AHandlerLearnsThatItsClientIsGone) {
  service_.start();
  RawClient gone(service_.port()), half(service_.port()), stays(service_.port());
  ASSERT_TRUE(gone.send(get("/hold")));
  ASSERT_TRUE(half.send(get("/hold") + get("/healthz")));
  ASSERT_TRUE(stays.send(get("/hold") + get("/healthz")));
  ASSERT_TRUE(comes_true([&] { return service_.holding == 3; }));
  EXPECT_EQ(service_.saw_gone, 0) << "a request behind it is no end";
  gone.hang_up();
  EXPECT_TRUE(comes_true([&] { return service_.saw_gone == 1; }));
  half.end_sending();
  EXPECT_TRUE(comes_true([&] { return service_.saw_gone == 2; }));
  EXPECT_EQ(half.read_reply().body, R"({"held":true})") << "who still listens is answered all the same";
  service_.let_go = true;
  EXPECT_EQ(stays.read_reply().body, R"({"held":true})");
}

TEST_F(ServerTest, SignalsAreNotForItsThreads) {
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send(get("/hold")));
  ASSERT_TRUE(comes_true([&] { return service_.holding == 1; }));
  sigset_t one, before;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &one, &before);
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // its default action ends the process
  const timespec none{};
  int got = -1;
  EXPECT_TRUE(comes_true([&] { return (got = ::sigtimedwait(&one, nullptr, &none)) == SIGUSR1; }));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  service_.let_go = true;
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST_F(ServerTest, ServesOnAUnixSocketToo) {
  const sys::TestDir folder;
  Options options = test_options();
  options.unix_socket = folder / "http.sock";
  service_.start(options);
  struct stat status {};
  ASSERT_EQ(::stat(options.unix_socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  RawClient local(options.unix_socket), loopback(service_.port());
  EXPECT_EQ(local.ask(post("/echo", "a")).body, "a");
  EXPECT_EQ(loopback.ask(post("/echo", "b")).body, "b");
  ASSERT_TRUE(local.send(get("/hold")));
  ASSERT_TRUE(comes_true([&] { return service_.holding == 1; }));
  local.hang_up();
  EXPECT_TRUE(comes_true([&] { return service_.saw_gone == 1; }));
  service_.stop();
  EXPECT_NE(::stat(options.unix_socket.c_str(), &status), 0);
}

TEST_F(ServerTest, LeavesNoDescriptorBehind) {
  const std::size_t before = sys::open_descriptors();
  for (int i = 0; i < 3; ++i) {
    service_.start();
    RawClient a(service_.port()), b(service_.port());
    EXPECT_EQ(a.ask(get("/healthz")).status, 200);
    EXPECT_EQ(b.ask("garbage\r\n\r\n").status, 400);
    service_.stop();
  }
  EXPECT_EQ(sys::open_descriptors(), before);
}

TEST(Options, SaysWhichMemberIsWrong) {
  EXPECT_FALSE(check_options(Options())) << "nowhere to listen";
  EXPECT_TRUE(check_options(test_options()));
  const auto broken = [](auto change) {
    Options options = test_options();
    change(options);
    const auto checked = check_options(options);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_NE(broken([](Options& o) { o.connections_max = 0; }).find("connections_max"), std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.connections_max = 8193; }).find("connections_max"), std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.head_time = milliseconds(0); }).find("head_time"), std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.idle_time = milliseconds(-1); }).find("idle_time"), std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.body_time = std::chrono::hours(25); }).find("body_time"),
            std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.write_time = milliseconds(0); }).find("write_time"), std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.linger_time = milliseconds(0); }).find("linger_time"),
            std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.least_rate = 0; }).find("least_rate"), std::string::npos);
  EXPECT_NE(broken([](Options& o) { o.unix_mode = 01777; }).find("unix_mode"), std::string::npos);
}

}  // namespace
}  // namespace casemate::http_server
