// Whoever makes calls is killed at each of its steps: system calls that write, sync or rename, those of the
// connector too. The program behind the connector is another process and writes its own log of what it did.
// It never did what no earlier record allows, one that is on the disk by then; and what is left verifies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "audit/layout.h"
#include "audit/test_crash.h"
#include "audit/test_support.h"
#include "bridge/perform.h"
#include "connect/exec_connector.h"

namespace casemate::connect {
namespace {

namespace fs = std::filesystem;
using audit::Moment;

constexpr int kCalls = 3;

// Does what it is asked, which is to write down that it was asked, and answers.
constexpr const char* kPeer = R"(while read -r line; do
key=${line#*\"idempotency_key\":\"}; echo "${key%%\"*}" >>"$0"
id=${line#*\"id\":}; echo "{\"id\":${id%%,*},\"result\":1}"
done)";

[[noreturn]] void make_calls(const audit::LogOptions& options, const std::string& effects) {
  const auto log = audit::Log::open(options);
  if (!log) ::_exit(3);
  auto grants = std::make_shared<bridge::Grants>(
      std::move(*policy::Policy::parse("[permissions]\nallow = [\"*\"]\n").policy));
  bridge::Tool tool;
  tool.capability.name = "ledger.read";
  ExecOptions exec;
  exec.command = {"/bin/sh", "-c", kPeer, effects};
  exec.folder = "/";
  tool.connector = std::make_shared<ExecConnector>(std::move(exec));
  std::vector<bridge::Tool> tools;
  tools.push_back(std::move(tool));
  grants->tools = std::move(*bridge::Toolbox::make(std::move(tools)));
  grants->log = log->get();
  for (int i = 0; i < kCalls; ++i) {
    bridge::Job job;
    job.grants = grants;
    job.granted = grants->tools.find("ledger.read");
    job.arguments = "{}";
    job.result_max = kib(1);
    job.begun = now();
    job.verdict = audit::some_verdict(audit::Answer::kAllow, "run_1", "run_1-" + std::to_string(i));
    job.verdict.idempotency_key = job.verdict.call;
    if (std::string_view(bridge::perform(job).status) != "ok") ::_exit(4);
  }
  ::_exit((*log)->close() ? 0 : 5);
}

std::vector<std::string> lines_of(const std::string& path) {
  const auto file = sys::open_at(AT_FDCWD, path, O_RDONLY);
  if (!file) return {};
  const auto text = sys::read_file(*file, 1 << 16);
  return text ? split(*text, '\n') : std::vector<std::string>();
}

class ConnectorCrashTest : public ::testing::TestWithParam<Moment> {};

TEST_P(ConnectorCrashTest, AtEachStepNothingIsDoneWithoutAnEarlierRecord) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  std::size_t done = 0;
  int step = 1;
  for (bool ended = false; !ended; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const audit::AuditDir dir;
    const std::string effects = dir.root() + "-effects";
    (void)fs::remove(effects);
    audit::Synced synced(dir.root());
    const audit::LogOptions options = dir.options();
    const pid_t child = ::fork();
    if (child == 0) {
      (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      (void)::raise(SIGSTOP);
      make_calls(options, effects);
    }
    ended = audit::Tracer(synced, step, GetParam()).run(child);
    // Orphans are ours: the program ends when it has done what it was sent.
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    synced.lose_power(nullptr);
    const auto log = dir.open();
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ(dir.first_fault(), "");
    std::set<std::string> judged;
    for (std::uint32_t number = 1; fs::exists(dir.segment(number)); ++number) {
      for (const std::string& line : dir.lines(number)) {
        const auto members = audit::read_members(line);
        ASSERT_TRUE(members);
        if (audit::text_member(*members, "kind") == audit::Verdict::kKind)
          judged.emplace(audit::text_member(*members, "call"));
      }
    }
    const std::vector<std::string> made = lines_of(effects);
    for (const std::string& key : made)
      EXPECT_TRUE(judged.contains(key)) << key << " was done without a record";
    done = made.size();
    (void)fs::remove(effects);
    if (HasFailure()) return;
  }
  std::printf("%d steps\n", step - 2);
  EXPECT_GT(step, 25);
  EXPECT_EQ(done, static_cast<std::size_t>(kCalls));
}

INSTANTIATE_TEST_SUITE_P(Crash, ConnectorCrashTest, ::testing::Values(Moment::kBefore, Moment::kAfter));

}  // namespace
}  // namespace casemate::connect
