#include "bridge/bridge.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <functional>

#include "frame/guest.h"
#include "json/reader.h"

namespace casemate::bridge {
namespace {

using frame::GuestType;
using frame::Tag;
using Kind = ConnectorAnswer::Kind;

// Answers as a test says; can be made to wait.
class Fake final : public Connector {
 public:
  std::function<ConnectorAnswer(const ConnectorCall&)> answer = [](const ConnectorCall& call) {
    return ConnectorAnswer{Kind::kValue, std::string(call.arguments)};
  };
  bool at_once = true;
  std::atomic<int> calls{0};
  std::atomic<bool> held{false};

  ConnectorAnswer call(audit::Recorded record, const ConnectorCall& call, Deadline deadline) override {
    EXPECT_TRUE(record.valid());
    EXPECT_EQ(record.capability(), call.capability);
    EXPECT_EQ(record.call(), call.idempotency_key);
    ++calls;
    while (held && !deadline.passed(now())) std::this_thread::sleep_for(milliseconds{1});
    return answer(call);
  }
  bool immediate() const override { return at_once; }
};

struct Told {
  std::uint64_t number = 0;
  frame::ReplyStatus status = frame::ReplyStatus::kValue;
  std::string json;
};

class BridgeTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("casemate-bridge-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    log_ = audit::Log::open({folder_.string(), "test"}).value();
  }
  void TearDown() override {
    bridge_.reset();
    workers_.reset();
    log_.reset();
    std::filesystem::remove_all(folder_);
  }

  void tool(const std::string& name, std::vector<std::string> labels = {}, bool durable = false) {
    Tool tool;
    tool.capability.name = name;
    tool.capability.labels = std::move(labels);
    tool.durable = durable;
    tool.time_max = milliseconds{2000};
    tool.connector = fake_;
    tools_.push_back(std::move(tool));
  }
  void start(const std::string& policy, CallLimits limits = {}) {
    auto loaded = policy::Policy::parse(policy);
    ASSERT_TRUE(loaded.policy) << loaded.mistakes.front().what;
    auto grants = std::make_shared<Grants>(std::move(*loaded.policy));
    grants->tools = Toolbox::make(std::move(tools_)).value();
    workers_ = std::make_unique<Workers>(8);
    grants->workers = workers_.get();
    grants->log = log_.get();
    bridge_.emplace(Bridge::make(std::move(grants), "run_1", {}, limits).value());
  }

  void call(const std::string& name, const std::string& arguments = "{}") {
    frame::Frame frame;
    frame.type = static_cast<std::uint16_t>(GuestType::kCall);
    const auto add = [&](Tag tag, std::string_view bytes) {
      frame::append_field(frame.payload, static_cast<std::uint16_t>(tag), bytes);
    };
    add(Tag::kNumber, frame::u64_bytes(++number_));
    add(Tag::kName, name);
    add(Tag::kBytes, arguments);
    ASSERT_TRUE(bridge_->take(frame));
  }
  // The answers that are there, or that come within a second.
  std::vector<Told> answers(std::size_t wanted) {
    std::vector<Told> all;
    const Deadline until = Deadline::in(milliseconds{5000});
    while (!until.passed(now())) {
      read(all);
      if (all.size() >= wanted) break;
      pollfd item{bridge_->finished().get(), POLLIN, 0};
      if (::poll(&item, 1, 100) > 0) bridge_->collect();
    }
    read(all);
    return all;
  }
  void read(std::vector<Told>& all) {
    EXPECT_TRUE(reader_.feed(bridge_->pending()));
    bridge_->sent(bridge_->pending().size());
    for (frame::Frame frame; reader_.next(frame).value();) {
      const auto fields = frame::parse_fields(frame.payload).value();
      Told told;
      for (const frame::Field& field : fields) {
        if (static_cast<Tag>(field.tag) == Tag::kNumber) told.number = frame::parse_u64(field.bytes).value();
        if (static_cast<Tag>(field.tag) == Tag::kStatus)
          told.status = static_cast<frame::ReplyStatus>(field.bytes[0]);
        if (static_cast<Tag>(field.tag) == Tag::kBytes) told.json = field.bytes;
      }
      all.push_back(told);
    }
  }
  std::string code(const Told& told) {
    const auto value = json::read(told.json).value();
    const json::Value* code = value.find("code");
    return code == nullptr ? "" : std::string(code->as_string().value());
  }

  std::filesystem::path folder_;
  std::unique_ptr<audit::Log> log_;
  std::shared_ptr<Fake> fake_ = std::make_shared<Fake>();
  std::vector<Tool> tools_;
  std::unique_ptr<Workers> workers_;
  std::optional<Bridge> bridge_;
  frame::Reader reader_;
  std::uint64_t number_ = 0;
};

constexpr const char* kAllow = "[permissions]\nallow = [\"*\"]\n[labels.sources]\n";

TEST_F(BridgeTest, ACallIsRecordedTwiceAndAnsweredOnce) {
  tool("a.b");
  start(kAllow);
  call("a.b", R"({"n":1})");
  const auto told = answers(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].json, R"({"n":1})");
  EXPECT_EQ(log_->counts().records, 2U);
  ASSERT_EQ(bridge_->told().size(), 1U);
  EXPECT_EQ(bridge_->told()[0].status, "ok");
  EXPECT_EQ(bridge_->told()[0].verdict, "allow");
}

TEST_F(BridgeTest, WhatIsDeniedNeverReachesAConnector) {
  tool("a.b");
  start("default = \"deny\"\n[labels.sources]\n");
  call("a.b");
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
  EXPECT_EQ(fake_->calls, 0);
  EXPECT_EQ(log_->counts().records, 1U);
}

TEST_F(BridgeTest, WhatCannotBeRecordedIsNotCalled) {
  tool("a.b", {}, true);
  start(kAllow);
  ASSERT_TRUE(log_->close());
  call("a.b");
  const auto told = answers(1);
  EXPECT_EQ(told.at(0).status, frame::ReplyStatus::kError);
  EXPECT_EQ(code(told[0]), "unavailable");
  EXPECT_EQ(fake_->calls, 0);
}

TEST_F(BridgeTest, WhatWasDoneAndCannotBeRecordedIsNoResult) {
  tool("a.b", {}, true);
  start(kAllow);
  fake_->answer = [&](const ConnectorCall&) {
    (void)log_->close();
    return ConnectorAnswer{Kind::kValue, "7"};
  };
  call("a.b");
  const auto told = answers(1);
  EXPECT_EQ(told.at(0).status, frame::ReplyStatus::kError);
  EXPECT_NE(told[0].json.find("\"effect\":null"), std::string::npos) << told[0].json;
  EXPECT_EQ(fake_->calls, 1);
}

constexpr const char* kFlow = R"([permissions]
allow = ["*"]
[labels.sources]
[labels.sinks]
"mail.send" = "external"
[[flow]]
when = "untrusted in run and sink == external"
verdict = "deny"
reason = "read"
)";

// The label joins before the answer is queued, whatever the answer is.
TEST_F(BridgeTest, LabelsJoinBeforeTheGuestHasAByte) {
  for (const Kind kind : {Kind::kValue, Kind::kToolError, Kind::kUnknown}) {
    fake_->answer = [kind](const ConnectorCall&) { return ConnectorAnswer{kind, "1"}; };
    tool("web.fetch", {"untrusted"});
    tool("mail.send");
    start(kFlow);
    call("mail.send");
    call("web.fetch");
    EXPECT_TRUE(bridge_->labels().has("untrusted"));
    call("mail.send");
    const auto told = answers(3);
    ASSERT_EQ(told.size(), 3U);
    EXPECT_NE(told[0].status, frame::ReplyStatus::kDenied);
    EXPECT_EQ(told[2].status, frame::ReplyStatus::kDenied);
  }
}

TEST_F(BridgeTest, ACallThatWasNotReachedBringsNoLabel) {
  fake_->answer = [](const ConnectorCall&) { return ConnectorAnswer{Kind::kNotDone, "down"}; };
  tool("web.fetch", {"untrusted"});
  start(kFlow);
  call("web.fetch");
  EXPECT_EQ(code(answers(1).at(0)), "unavailable");
  EXPECT_FALSE(bridge_->labels().has("untrusted"));
}

// An answer that is under way has no labels yet for the guest, since it has no byte of it; when the guest has
// a byte, the next verdict knows.
TEST_F(BridgeTest, AnAnswerOnAThreadJoinsWhenItIsCollected) {
  fake_->at_once = false;
  tool("web.fetch", {"untrusted"}, true);
  tool("mail.send", {}, true);
  start(kFlow);
  call("web.fetch");
  EXPECT_FALSE(bridge_->labels().has("untrusted"));
  EXPECT_TRUE(bridge_->pending().empty());
  EXPECT_EQ(answers(1).size(), 1U);
  EXPECT_TRUE(bridge_->labels().has("untrusted"));
  call("mail.send");
  EXPECT_EQ(answers(1).at(0).status, frame::ReplyStatus::kDenied);
}

TEST_F(BridgeTest, ResultsThatAreNoneAreUnknown) {
  tool("a.b");
  auto schema = schema::Schema::compile(json::read(R"({"type":"integer"})").value());
  tools_[0].result = *schema;
  CallLimits limits;
  limits.result = Bytes{10};
  start(kAllow, limits);
  for (const char* text : {"", "[", "\"x\"", "1.5", "[1][2]", "NaN", "12345678901"}) {
    fake_->answer = [text](const ConnectorCall&) { return ConnectorAnswer{Kind::kValue, text}; };
    call("a.b");
    const auto told = answers(1);
    EXPECT_EQ(code(told.at(0)), "unknown") << text;
  }
  fake_->answer = [](const ConnectorCall&) { return ConnectorAnswer{Kind::kValue, "1234567890"}; };
  call("a.b");
  EXPECT_EQ(answers(1).at(0).json, "1234567890");
}

TEST_F(BridgeTest, NoMoreAreAtWorkThanMayBeAndTheOthersWait) {
  fake_->at_once = false;
  fake_->held = true;
  tool("a.b", {}, true);
  CallLimits limits;
  limits.parallel = 2;
  limits.waiting = 3;
  start(kAllow, limits);
  for (int i = 0; i < 7; ++i) call("a.b");
  const auto refused = answers(2);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(code(refused[0]), "exhausted");
  EXPECT_LE(fake_->calls, 2);
  fake_->held = false;
  EXPECT_EQ(answers(5).size(), 5U);
  EXPECT_EQ(fake_->calls, 5);
}

TEST_F(BridgeTest, AGuestThatDoesNotReadGetsNoMore) {
  tool("a.b");
  CallLimits limits;
  limits.unread = Bytes{100};
  start(kAllow, limits);
  const std::string long_argument = R"({"t":")" + std::string(200, 'x') + "\"}";
  for (int i = 0; i < 5; ++i) call("a.b", long_argument);
  EXPECT_EQ(fake_->calls, 1);
  EXPECT_EQ(answers(5).size(), 5U);
  EXPECT_EQ(fake_->calls, 5);
}

TEST_F(BridgeTest, ARunHasSoManyCallsAndNoMore) {
  tool("a.b");
  CallLimits limits;
  limits.calls = 3;
  start(kAllow, limits);
  for (int i = 0; i < 4; ++i) call("a.b");
  const auto told = answers(4);
  EXPECT_EQ(code(told.at(3)), "exhausted");
  EXPECT_EQ(fake_->calls, 3);
}

TEST_F(BridgeTest, WhatIsUnderWayAtTheEndIsRecordedAndNobodyIsTold) {
  fake_->at_once = false;
  fake_->held = true;
  tool("a.b", {}, true);
  start(kAllow);
  call("a.b");
  while (fake_->calls == 0) std::this_thread::sleep_for(milliseconds{1});
  bridge_->stop();
  call("a.b");
  fake_->held = false;
  bridge_.reset();
  workers_.reset();
  EXPECT_EQ(fake_->calls, 1);
  EXPECT_EQ(log_->counts().records, 2U);
}

TEST_F(BridgeTest, BudgetsAreCharged) {
  tool("pay.send");
  start(
      "[permissions]\nallow = [\"*\"]\n[labels.sources]\n[[budgets.calls]]\nof = \"pay.*\"\nmax = 2\nbeyond "
      "= \"deny\"\n");
  for (int i = 0; i < 3; ++i) call("pay.send");
  const auto told = answers(3);
  EXPECT_EQ(told.at(1).status, frame::ReplyStatus::kValue);
  EXPECT_EQ(told.at(2).status, frame::ReplyStatus::kDenied);
}

}  // namespace
}  // namespace casemate::bridge
