// A bridge with a connector of the test's, and the guest's side of it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bridge/bridge.h"
#include "frame/guest.h"
#include "json/reader.h"

namespace casemate::bridge {

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
    if (asks_) grants->desk = &desk_;
    grants->ask_time = milliseconds{5000};
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
  bool asks_ = false;  // whether there is somebody to be asked
  approve::Desk desk_;
  std::unique_ptr<Workers> workers_;
  std::optional<Bridge> bridge_;
  frame::Reader reader_;
  std::uint64_t number_ = 0;
};

}  // namespace casemate::bridge
