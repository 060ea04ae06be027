// Answers that are written piece by piece, and the end of a server.
#include <gtest/gtest.h>

#include "http_server/test_service.h"

namespace casemate::http_server {
namespace {

class StreamTest : public testing::Test {
 protected:
  void SetUp() override {
    service_.add("GET", "/events", 0, [this](const Request& request, const Client& client) {
      const auto last = last_event_id(request);
      if (!last) return problem_of(last.error());
      return event_answer([this, &client, from = last->value_or(0)](EventWriter& events) {
        write_events(events, client, from);
      });
    });
    service_.add("GET", "/flood", 0, [this](const Request&, const Client&) {
      return event_answer([this](EventWriter& events) {
        Result<void> sent;
        while (sent) sent = events.send({"", "", std::string(100'000, 'x')});
        flood_end_ = sent.error().code;
      });
    });
    service_.add("GET", "/cut", 0, [](const Request&, const Client&) {
      return event_answer([](EventWriter& events) {
        (void)events.send({"1", "", "begun"});
        events.writer().abandon();
      });
    });
  }
  // Ten events, from `from` on; then, if a test says so, heartbeats until nobody listens.
  void write_events(EventWriter& events, const Client& client, std::uint64_t from) {
    ++streams_;
    for (std::uint64_t id = from + 1; id <= 10; ++id)
      (void)events.send({std::to_string(id), "output", "line\n" + std::to_string(id)});
    while (goes_on_ && events.heartbeat() && !client.draining()) (void)::poll(nullptr, 0, 5);
    (void)events.send({"11", "end", "{}"});
    --streams_;
  }

  Service service_;
  std::atomic<bool> goes_on_{false};
  std::atomic<int> streams_{0};
  std::atomic<ErrorCode> flood_end_{ErrorCode::kInternal};
};

TEST_F(StreamTest, EventsArriveAndTheConnectionGoesOn) {
  service_.start();
  RawClient client(service_.port());
  for (int i = 0; i < 2; ++i) {
    const Reply reply = client.ask(get("/events"));
    EXPECT_EQ(reply.field("Content-Type"), "text/event-stream");
    EXPECT_TRUE(reply.whole);
    EXPECT_TRUE(reply.body.starts_with("id: 1\nevent: output\ndata: line\ndata: 1\n\n"));
    EXPECT_TRUE(reply.body.ends_with("id: 11\nevent: end\ndata: {}\n\n"));
  }
}

TEST_F(StreamTest, AStreamIsTakenUpAfterItsLastEvent) {
  service_.start();
  RawClient client(service_.port());
  EXPECT_TRUE(client.ask(get("/events", "Last-Event-ID: 9\r\n")).body.starts_with("id: 10\n"));
  EXPECT_EQ(client.ask(get("/events", "Last-Event-ID: 9x\r\n")).status, 400);
}

TEST_F(StreamTest, EachEventComesWhenItIsWritten) {
  goes_on_ = true;
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send(get("/events")));
  EXPECT_NE(client.read_to("id: 10\nevent: output\ndata: line\ndata: 10\n\n"), "");
  EXPECT_NE(client.read_to(":\n\n"), "") << "a heartbeat";
  EXPECT_EQ(streams_, 1) << "it is still being written";
  goes_on_ = false;
  EXPECT_TRUE(client.read_to("0\r\n\r\n").ends_with("0\r\n\r\n"));
}

TEST_F(StreamTest, Http10HasItsStreamUntilTheEnd) {
  service_.start();
  RawClient client(service_.port());
  const Reply reply = client.ask("GET /events HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reply.field("Transfer-Encoding"), "");
  EXPECT_TRUE(reply.body.ends_with("id: 11\nevent: end\ndata: {}\n\n"));
}

TEST_F(StreamTest, HeadDoesNotBeginAStream) {
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send("HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(client.read_reply(/*has_body=*/false).field("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.ask(get("/healthz")).status, 200);
}

TEST_F(StreamTest, AnAnswerThatWasGivenUpIsSeenToBeCut) {
  service_.start();
  RawClient client(service_.port());
  const Reply reply = client.ask(get("/cut"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.whole);
  EXPECT_TRUE(client.is_ended());
}

TEST_F(StreamTest, WritingEndsWhenTheClientIsGone) {
  goes_on_ = true;
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send(get("/events")));
  (void)client.read_to(":\n\n");
  client.hang_up();
  EXPECT_TRUE(comes_true([&] { return streams_ == 0; }));
  EXPECT_TRUE(comes_true([&] { return service_.server().counts().connections == 0; }));
  EXPECT_EQ(service_.server().counts().unread, 1U);
}

TEST_F(StreamTest, AClientThatDoesNotReadEndsItsStreamAndNobodyElses) {
  Options options = test_options();
  options.write_time = milliseconds(200);
  service_.start(options);
  RawClient client(service_.port()), other(service_.port());
  ASSERT_TRUE(client.send(get("/flood")));
  EXPECT_EQ(other.ask(get("/healthz")).status, 200);
  EXPECT_TRUE(comes_true([&] { return flood_end_ == ErrorCode::kDeadline; }));
  EXPECT_TRUE(comes_true([&] { return service_.server().counts().unread == 1; }));
  EXPECT_EQ(other.ask(get("/healthz")).status, 200);
}

TEST_F(StreamTest, DrainingAnswersWhatIsUnderWayAndEndsTheRest) {
  service_.start();
  RawClient idle(service_.port()), silent(service_.port()), busy(service_.port());
  EXPECT_EQ(idle.ask(get("/healthz")).status, 200);
  ASSERT_TRUE(busy.send(get("/hold") + get("/healthz")));
  ASSERT_TRUE(comes_true([&] { return service_.holding == 1; }));
  std::size_t cut = 99;
  std::thread drains([&] { cut = service_.server().drain(Deadline::in(milliseconds(8000))); });
  EXPECT_TRUE(idle.is_ended(milliseconds(2000)));
  EXPECT_TRUE(silent.is_ended(milliseconds(2000)));
  EXPECT_TRUE(comes_true([&] { return service_.saw_drain > 0; }));
  EXPECT_EQ(service_.holding, 1) << "and it is left to go on";
  const std::uint16_t port = service_.port();
  sys::Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_NE(::connect(late.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  service_.let_go = true;
  const Reply reply = busy.read_reply();
  EXPECT_EQ(reply.body, R"({"held":true})");
  EXPECT_EQ(reply.field("Connection"), "close");
  drains.join();
  EXPECT_EQ(cut, 0U);
  EXPECT_EQ(busy.read_to_end(), "") << "the request behind it is not begun";
}

TEST_F(StreamTest, DrainingEndsStreamsThatLookForIt) {
  goes_on_ = true;
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send(get("/events")));
  (void)client.read_to(":\n\n");
  EXPECT_EQ(service_.server().drain(Deadline::in(milliseconds(8000))), 0U);
  EXPECT_TRUE(client.read_to_end().ends_with("0\r\n\r\n")) << "with its last event and a clean end";
}

TEST_F(StreamTest, WhatIsNotDoneAtTheDeadlineOfADrainIsCut) {
  service_.start();
  RawClient client(service_.port());
  ASSERT_TRUE(client.send(get("/hold")));
  ASSERT_TRUE(comes_true([&] { return service_.holding == 1; }));
  const Instant begin = now();
  EXPECT_EQ(service_.server().drain(Deadline::in(milliseconds(200))), 1U);
  EXPECT_GE(now() - begin, milliseconds(200));
  EXPECT_TRUE(comes_true([&] { return service_.saw_gone == 1; }));
  EXPECT_TRUE(comes_true([&] { return service_.server().counts().connections == 0; }));
  EXPECT_EQ(client.read_reply().status, 0);
}

}  // namespace
}  // namespace casemate::http_server
