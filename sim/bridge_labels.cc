// Random interleavings of one run's calls: what a guest sends, what connectors do meanwhile, when the engine
// looks, and how much of an answer the guest has read. No call is judged without the labels of any byte that
// the guest had before it made the call; and none is judged by a label whose source was never reached.
// CASEMATE_SEED runs one of them again.
#include <gtest/gtest.h>
#include <poll.h>

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "bridge/bridge.h"
#include "frame/guest.h"
#include "seeds.h"

namespace casemate::bridge {
namespace {

using frame::GuestType;
using frame::Tag;
using sim::Random;

constexpr std::size_t kSources = 4;
constexpr const char* kPolicy = R"([permissions]
allow = ["*"]
[labels.sources]
"read.s0" = ["l0"]
"read.s1" = ["l1"]
"read.s2" = ["l2"]
"read.s3" = ["l3"]
[labels.sinks]
"send.*" = "external"
[[flow]]
when = "l0 in run and sink == external"
verdict = "deny"
reason = "l0"
[[flow]]
when = "(l1 in run or l2 in run) and l3 in run and sink == external"
verdict = "ask"
reason = "some of them"
)";

// What kPolicy says, by other means.
bool may_send(const std::set<std::string>& labels) {
  const auto has = [&](const char* label) { return labels.contains(label); };
  return !has("l0") && !((has("l1") || has("l2")) && has("l3"));
}

// Waits in a thread until the world lets it go on, in the world's order.
class Gate {
 public:
  void wait(std::uint64_t call) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return open_.contains(call); });
  }
  void open(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    open_.insert(call);
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::uint64_t> open_;
};

class Source final : public Connector {
 public:
  Source(std::shared_ptr<Gate> gate, bool at_once) : gate_(std::move(gate)), at_once_(at_once) {}
  // The arguments are the guest's number of the call and how it ends.
  ConnectorAnswer call(audit::Recorded, const ConnectorCall& call, Deadline) override {
    const std::string text(call.arguments);
    if (!at_once_) gate_->wait(std::stoull(text.substr(text.find(':') + 1)));
    using Kind = ConnectorAnswer::Kind;
    if (text.find("fails") != std::string::npos) return {Kind::kToolError, "l"};
    if (text.find("garbage") != std::string::npos) return {Kind::kUnknown, "l"};
    if (text.find("not_there") != std::string::npos) return {Kind::kNotDone, "l"};
    return {Kind::kValue, "\"" + std::string(call.idempotency_key) + std::string(5000, 'x') + "\""};
  }
  bool immediate() const override { return at_once_; }

 private:
  std::shared_ptr<Gate> gate_;
  bool at_once_;
};

// One run, its guest, and the engine's loop.
class World {
 public:
  World(Random& random, audit::Log* log) : random_(random) {
    auto grants = std::make_shared<Grants>(std::move(*policy::Policy::parse(kPolicy).policy));
    std::vector<Tool> tools;
    const auto add = [&](const std::string& name, std::vector<std::string> labels) {
      Tool tool;
      tool.capability.name = name;
      tool.capability.labels = std::move(labels);
      tool.durable = false;
      tool.time_max = milliseconds{20'000};
      tool.connector = std::make_shared<Source>(gate_, random_.one_in(3));
      tools.push_back(std::move(tool));
    };
    for (std::size_t i = 0; i < kSources; ++i) add("read.s" + std::to_string(i), {"l" + std::to_string(i)});
    add("send.mail", {});
    grants->tools = Toolbox::make(std::move(tools)).value();
    workers_ = std::make_unique<Workers>(8);
    grants->workers = workers_.get();
    grants->log = log;
    CallLimits limits;
    limits.parallel = random_.between(1, 6);
    bridge_.emplace(Bridge::make(std::move(grants), "run_1", {}, limits).value());
  }
  ~World() {
    for (const auto& [number, call] : calls_) gate_->open(number);
    bridge_->stop();
    bridge_.reset();
    workers_.reset();
  }

  void step() {
    switch (random_.below(6)) {
      case 0:
      case 1: return call();
      case 2: return let_one_go();
      case 3: return look();
      default: return read(random_.between(1, 4000));
    }
  }
  // All that is under way ends, and the guest reads it.
  void finish() {
    for (const auto& [number, call] : calls_) gate_->open(number);
    const Deadline until = Deadline::in(milliseconds{20'000});
    while (answered_ < calls_.size() && !until.passed(now())) {
      look();
      read(1 << 20);
      pollfd item{bridge_->finished().get(), POLLIN, 0};
      if (answered_ < calls_.size()) (void)::poll(&item, 1, 20);
    }
    ASSERT_EQ(answered_, calls_.size());
  }

 private:
  struct Made {
    bool sends = false;
    std::set<std::string> seen;  // the labels of all that the guest had a byte of
    std::string source;          // the label that its answer brings
  };

  void call() {
    Made made;
    made.sends = random_.one_in(2);
    made.seen = seen_;
    const std::size_t which = random_.below(kSources);
    const std::uint64_t number = calls_.size() + 1;
    const std::array kinds{"works", "works", "works", "fails", "garbage", "not_there"};
    const std::string ends = kinds.at(random_.below(kinds.size()));
    if (!made.sends && ends != "not_there") made.source = "l" + std::to_string(which);
    asked_.insert(made.source);
    calls_[number] = made;
    frame::Frame frame;
    frame.type = static_cast<std::uint16_t>(GuestType::kCall);
    const auto add = [&](Tag tag, std::string_view bytes) {
      frame::append_field(frame.payload, static_cast<std::uint16_t>(tag), bytes);
    };
    add(Tag::kNumber, frame::u64_bytes(number));
    add(Tag::kName, made.sends ? "send.mail" : "read.s" + std::to_string(which));
    add(Tag::kBytes, "{\"n\":" + std::to_string(number) + ",\"ends\":\"" + ends + "\"}");
    ASSERT_TRUE(bridge_->take(frame));
  }
  void let_one_go() {
    if (!calls_.empty()) gate_->open(random_.between(1, calls_.size()));
  }
  void look() { bridge_->collect(); }

  // As with a real guest, of an answer it may have a part.
  void read(std::size_t bytes_max) {
    const std::string_view pending = bridge_->pending();
    const std::size_t count = std::min(bytes_max, pending.size());
    bytes_ += pending.substr(0, count);
    bridge_->sent(count);
    for (const frame::Frame& frame : frames()) take(frame);
    // A header, the number's tag and size, the number; then more of it than that.
    constexpr std::size_t kNumberAt = frame::kHeaderSize + 8;
    if (bytes_.size() <= kNumberAt + 8) return;
    const auto number = frame::parse_u64(std::string_view(bytes_).substr(kNumberAt, 8)).value();
    if (const std::string& source = calls_.at(number).source; !source.empty()) seen_.insert(source);
  }
  std::vector<frame::Frame> frames() {
    std::vector<frame::Frame> found;
    while (bytes_.size() >= frame::kHeaderSize) {
      std::uint32_t size = 0;
      std::memcpy(&size, bytes_.data(), sizeof(size));
      if (bytes_.size() < frame::kHeaderSize + size) break;
      frame::Frame frame;
      frame.payload = bytes_.substr(frame::kHeaderSize, size);
      found.push_back(std::move(frame));
      bytes_.erase(0, frame::kHeaderSize + size);
    }
    return found;
  }
  void take(const frame::Frame& frame) {
    std::uint64_t number = 0;
    auto status = frame::ReplyStatus::kValue;
    bool more = false;
    const auto fields = frame::parse_fields(frame.payload).value();
    for (const frame::Field& field : fields) {
      if (static_cast<Tag>(field.tag) == Tag::kNumber) number = frame::parse_u64(field.bytes).value();
      if (static_cast<Tag>(field.tag) == Tag::kStatus)
        status = static_cast<frame::ReplyStatus>(field.bytes[0]);
      if (static_cast<Tag>(field.tag) == Tag::kMore) more = true;
    }
    const Made& made = calls_.at(number);
    if (!made.source.empty()) seen_.insert(made.source);
    if (more) return;
    ++answered_;
    if (!made.sends) return;
    const bool denied = status == frame::ReplyStatus::kDenied;
    // It may be judged after it was made, by more labels; never by fewer, nor by those of nothing.
    EXPECT_TRUE(denied || may_send(made.seen)) << "call " << number << " was judged without what it knew";
    EXPECT_FALSE(denied && may_send(asked_)) << "call " << number << " was judged by what nobody read";
    denied ? ++denied_ : ++sent_;
  }

 public:
  std::size_t denied_ = 0, sent_ = 0;

 private:
  Random& random_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::unique_ptr<Workers> workers_;
  std::optional<Bridge> bridge_;
  std::map<std::uint64_t, Made> calls_;
  std::set<std::string> seen_, asked_;
  std::string bytes_;
  std::size_t answered_ = 0;
};

TEST(Labels, NoCallIsJudgedWithoutWhatItsGuestCouldKnow) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("casemate-labels-" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  auto log = audit::Log::open({folder.string(), "test"}).value();
  std::size_t denied = 0, sent = 0;
  sim::for_each_seed(1000, [&](Random& random) {
    World world(random, log.get());
    for (std::size_t i = random.between(5, 60); i > 0; --i) world.step();
    world.finish();
    denied += world.denied_;
    sent += world.sent_;
  });
  EXPECT_GT(denied, 100U);
  EXPECT_GT(sent, 100U);
  log.reset();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace casemate::bridge
