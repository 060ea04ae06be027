// Theory of operation: the program has one thread of ours, which reads what it says and wakes who waits for
// it. A program that is dead stays where it is until the next call replaces it: the last to let go of it
// joins that thread, and must not be it.
#include "connect/exec_connector.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "connect/exec_protocol.h"
#include "json/utf8.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace casemate::connect {
namespace {

using bridge::ConnectorAnswer;
using Kind = ConnectorAnswer::Kind;

constexpr std::size_t kReadChunk = std::size_t{64} << 10;
constexpr std::size_t kErrorMax = 4096;
// A program that answers at all has this long to be asked the next thing.
constexpr milliseconds kSendTime{10'000};

}  // namespace

struct ExecConnector::Waiting {
  std::optional<ConnectorAnswer> answer;
  std::condition_variable changed;
};

struct ExecConnector::Program {
  sys::Child child;
  sys::Fd in, out;     // its ends are the other ones
  std::mutex sending;  // one line at a time
  std::mutex mutex;    // of what follows
  std::map<std::uint64_t, std::shared_ptr<Waiting>> waiting;
  std::uint64_t next = 1;
  std::optional<std::string> dead;  // why
  std::size_t answer_max = 0;
  std::thread reader;

  ~Program() {
    end();
    if (reader.joinable()) reader.join();
  }

  // Itself and what it has started, as far as that stays in its session.
  void end() const {
    if (child) (void)::kill(-child.pid(), SIGKILL);
    child.kill();
  }

  void die(const std::string& why) {
    end();
    const std::lock_guard lock(mutex);
    if (!dead) dead = why;
    for (const auto& [number, one] : waiting) {
      one->answer = ConnectorAnswer{Kind::kUnknown, "no answer: " + why};
      one->changed.notify_one();
    }
    waiting.clear();
  }

  // Errors: invalid.
  Result<void> take(std::string_view line) {
    ExecAnswer answer = TRY(parse_answer(line));
    const std::lock_guard lock(mutex);
    if (answer.number == 0 || answer.number >= next)
      return fail(ErrorCode::kInvalid, "an answer to what was not asked");
    const auto found = waiting.find(answer.number);
    if (found == waiting.end()) return {};  // too late: nobody waits for it any more
    found->second->answer = std::move(answer.answer);
    found->second->changed.notify_one();
    waiting.erase(found);
    return {};
  }

  void read() {
    std::string held;
    std::array<char, kReadChunk> buffer{};
    for (;;) {
      const auto got = sys::read_some(out, buffer);
      if (!got) return die("its output cannot be read: " + got.error().message);
      if (*got == 0) return die("the program has ended");
      const std::size_t before = held.size();
      held.append(buffer.data(), *got);
      std::size_t begin = 0;
      for (std::size_t end = held.find('\n', before); end != std::string::npos;
           end = held.find('\n', begin)) {
        if (const auto taken = take(std::string_view(held).substr(begin, end - begin)); !taken)
          return die("the program broke the protocol: " + json::one_line(taken.error().message, kErrorMax));
        begin = end + 1;
      }
      held.erase(0, begin);
      if (held.size() > answer_max) return die("the program's answer is longer than may be");
    }
  }
};

ExecConnector::ExecConnector(ExecOptions options) : options_(std::move(options)) {}
ExecConnector::~ExecConnector() = default;

Result<std::shared_ptr<ExecConnector::Program>> ExecConnector::start(const ExecOptions& options,
                                                                     Deadline deadline) {
  sys::Pair in = TRY(sys::make_pipe());
  sys::Pair out = TRY(sys::make_pipe());
  TRY(sys::set_nonblocking(in.second));
  sys::SpawnOptions spawn;
  spawn.program = sys::find_program(options.command.front());
  spawn.arguments = options.command;
  spawn.environment = options.environment;
  spawn.fds = {in.first.get(), out.second.get(), STDERR_FILENO};
  spawn.directory = options.folder;
  spawn.new_session = true;
  auto program = std::make_shared<Program>();
  program->child = TRY(sys::spawn(spawn));
  program->in = std::move(in.second);
  program->out = std::move(out.first);
  program->answer_max = options.answer_max.count;
  if (!options.first_line.empty()) TRY(sys::write_all(program->in, options.first_line.reveal(), deadline));
  program->reader = std::thread([raw = program.get()] { raw->read(); });
  return program;
}

// With mutex_ held.
Result<std::shared_ptr<ExecConnector::Program>> ExecConnector::program(Deadline deadline) {
  if (program_) {
    const std::lock_guard lock(program_->mutex);
    if (!program_->dead) return program_;
  }
  program_ = TRY(start(options_, deadline));
  return program_;
}

ConnectorAnswer ExecConnector::call(audit::Recorded record, const bridge::ConnectorCall& call,
                                    Deadline deadline) {
  (void)record;
  std::unique_lock lock(mutex_);
  if (!turn_.wait_until(lock, deadline.instant(), [&] { return at_work_ < options_.parallel; }))
    return {Kind::kNotDone, "the program is busy with other calls"};
  const Deadline until = Deadline::at(std::min(deadline.instant(), now() + kSendTime));
  auto program = this->program(until);
  if (!program) return {Kind::kNotDone, options_.called + ": " + program.error().message};
  ++at_work_;
  lock.unlock();
  ConnectorAnswer answer = ask(**program, call, deadline);
  lock.lock();
  --at_work_;
  turn_.notify_one();
  return answer;
}

// Sends one line and waits for the one that answers it.
ConnectorAnswer ExecConnector::ask(Program& program, const bridge::ConnectorCall& call, Deadline deadline) {
  const auto mine = std::make_shared<Waiting>();
  std::uint64_t number = 0;
  {
    const std::lock_guard sending(program.sending);
    {
      const std::lock_guard lock(program.mutex);
      if (program.dead) return {Kind::kNotDone, *program.dead};
      number = program.next++;
      program.waiting.emplace(number, mine);
    }
    const Deadline until = Deadline::at(std::min(deadline.instant(), now() + kSendTime));
    const milliseconds left{deadline.poll_timeout_ms(now())};
    // Half a line is out when this fails, or nobody reads any more.
    if (const auto sent = sys::write_all(program.in, line_of(number, call, left), until); !sent)
      program.die("it does not read what it is asked: " + sent.error().message);
  }
  std::unique_lock lock(program.mutex);
  mine->changed.wait_until(lock, deadline.instant(), [&] { return mine->answer.has_value(); });
  if (mine->answer) return std::move(*mine->answer);
  program.waiting.erase(number);
  return {Kind::kUnknown, "no answer in time"};
}

}  // namespace casemate::connect
