// A writer is killed at each of its system calls that write, sync or rename, one after the other; and each
// time, of what is then on its files, also only that is left which a loss of power would have left at the
// least. After either, whatever was acknowledged is there, no effect is without its record, and verify finds
// nothing.
//
// The writer is a child that this process traces (ptrace(2)). It says on a pipe what was acknowledged to it,
// and on another, as a connector would act, what it has done. The pipes survive the kill.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "audit/layout.h"
#include "audit/test_support.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;

constexpr int kCalls = 5;

enum class Moment { kBefore, kAfter };

struct Pipes {
  sys::Pair acknowledged = *sys::make_pipe();
  sys::Pair effects = *sys::make_pipe();
};

void say(const sys::Fd& pipe, const std::string& line) {
  (void)!::write(pipe.get(), line.data(), line.size());
}

std::vector<std::string> heard(sys::Pair& pipe) {
  pipe.second.reset();
  return split(sys::read_file(pipe.first, 1 << 20).value(), '\n');
}

// What the child does: opens, judges, acts, records results, goes over segments, closes.
[[noreturn]] void write_log(const LogOptions& options, const Pipes& pipes) {
  const auto log = Log::open(options);
  if (!log) ::_exit(3);
  for (int i = 0; i < kCalls; ++i) {
    auto judged = (*log)->record(some_verdict(Answer::kAllow, "run_1", std::to_string(i)),
                                 Durability::kDurable, soon());
    if (!judged) ::_exit(4);
    const Recorded proof = std::get<Recorded>(std::move(*judged));
    say(pipes.acknowledged.second, proof.digest() + "\n");
    say(pipes.effects.second, proof.call() + "\n");
    if (!(*log)->append(some_result("run_1", proof.call()), Durability::kBuffered, soon())) ::_exit(5);
  }
  ::_exit((*log)->close() ? 0 : 6);
}

// What a loss of power would leave: of each file, the bytes that a sync has covered; of each directory, the
// names that one has. Everything below a directory that is empty in the beginning.
class Synced {
 public:
  explicit Synced(std::string root) : root_(std::move(root)) {}

  // A sync of this file or directory came back.
  void note(const fs::path& path) {
    if (!fs::is_directory(path)) {
      bytes_[inode(path)] = fs::file_size(path);
      return;
    }
    std::erase_if(names_, [&](const std::string& name) { return fs::path(name).parent_path() == path; });
    for (const auto& entry : fs::directory_iterator(path)) names_.insert(entry.path());
  }

  // Takes from the files what a loss of power may take: all of it, or with `random` a part of the bytes.
  void lose_power(std::mt19937_64* random) const {
    std::vector<fs::path> gone;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      const std::string path = entry.path();
      if (!names_.contains(path)) {
        gone.push_back(entry.path());
      } else if (entry.is_regular_file()) {
        const auto found = bytes_.find(inode(path));
        const std::uint64_t safe = found == bytes_.end() ? 0 : found->second;
        const std::uint64_t size = entry.file_size();
        if (size > safe)
          fs::resize_file(path, safe + (random == nullptr ? 0 : (*random)() % (size - safe + 1)));
      }
    }
    for (const fs::path& path : gone) fs::remove_all(path);
  }

 private:
  static ino_t inode(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  const std::string root_;
  std::map<ino_t, std::uint64_t> bytes_;
  std::set<std::string> names_;
};

// Counts a child's steps, kills it at one of them, and keeps what is synced.
class Tracer {
 public:
  Tracer(Synced& synced, int stop_at, Moment moment) : synced_(synced), stop_at_(stop_at), moment_(moment) {}

  // True when the child came to its end; then it exited with 0.
  bool run(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD), 0);
    bool inside = false;
    for (;;) {
      (void)::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);  // a child that is gone shows below
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        return true;
      }
      if (WIFSIGNALED(status)) return false;
      if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
      user_regs_struct registers{};
      (void)::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
      inside = !inside;
      if (!is_step(registers.orig_rax)) continue;
      if (inside) ++steps_;
      const bool now = steps_ == stop_at_ && inside == (moment_ == Moment::kBefore);
      if (!inside) note(child, registers);
      if (now) (void)::kill(child, SIGKILL);
    }
  }

 private:
  static bool is_step(std::uint64_t call) {
    static const std::set<std::uint64_t> kSteps{SYS_write,   SYS_fsync,     SYS_fdatasync,
                                                SYS_rename,  SYS_renameat,  SYS_renameat2,
                                                SYS_mkdirat, SYS_ftruncate, SYS_unlinkat};
    return kSteps.contains(call);
  }
  void note(pid_t child, const user_regs_struct& registers) {
    const bool failed = static_cast<std::int64_t>(registers.rax) < 0;
    if (failed || (registers.orig_rax != SYS_fsync && registers.orig_rax != SYS_fdatasync)) return;
    std::error_code error;
    const fs::path path =
        fs::read_symlink("/proc/" + std::to_string(child) + "/fd/" + std::to_string(registers.rdi), error);
    if (!error) synced_.note(path);
  }

  Synced& synced_;
  const int stop_at_;
  const Moment moment_;
  int steps_ = 0;
};

enum class Loss { kNone, kAll, kSome };

class CrashTest : public ::testing::Test {
 protected:
  // Lets a writer run up to a step. True when it came to its end before.
  bool run_to(const AuditDir& dir, Synced& synced, int step, Moment moment) {
    LogOptions options = dir.options();
    options.segment_max = kib(3);
    Pipes pipes;
    const pid_t child = ::fork();
    if (child == 0) {
      (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      (void)::raise(SIGSTOP);
      write_log(options, pipes);
    }
    const bool ended = Tracer(synced, step, moment).run(child);
    for (std::string& digest : heard(pipes.acknowledged)) heads_.heads.push_back(std::move(digest));
    for (std::string& call : heard(pipes.effects)) effects_.push_back(std::move(call));
    return ended;
  }

  void expect_whole(const AuditDir& dir) {
    // Before somebody opens it, a part of a record may be at its end, and nothing else is wrong.
    const std::string before = dir.first_fault();
    EXPECT_TRUE(before.empty() || before.starts_with("torn") ||
                before.starts_with("verify: there is no audit log"))
        << before;
    const auto log = dir.open();
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ(dir.first_fault(heads_), "");
    std::multiset<std::string> judged;
    for (std::uint32_t number = 1; fs::exists(dir.segment(number)); ++number) {
      for (const std::string& line : dir.lines(number)) {
        const auto members = read_members(line);
        ASSERT_TRUE(members);
        if (text_member(*members, "kind") == Verdict::kKind) judged.emplace(text_member(*members, "call"));
      }
    }
    for (const std::string& effect : effects_) {
      const auto found = judged.find(effect);
      EXPECT_NE(found, judged.end()) << "an effect without a verdict: " << effect;
      if (found != judged.end()) judged.erase(found);
    }
  }

  VerifyOptions heads_;
  std::vector<std::string> effects_;
};

class KillTest : public CrashTest, public ::testing::WithParamInterface<std::tuple<Moment, Loss>> {};

TEST_P(KillTest, AtEachStepLosesNothingThatWasAcknowledged) {
  const auto [moment, loss] = GetParam();
  std::mt19937_64 random(1);
  int step = 1;
  for (bool ended = false; !ended; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const AuditDir dir;
    Synced synced(dir.root());
    heads_.heads.clear();
    effects_.clear();
    ended = run_to(dir, synced, step, moment);
    if (loss != Loss::kNone) synced.lose_power(loss == Loss::kSome ? &random : nullptr);
    expect_whole(dir);
    if (HasFailure()) return;
  }
  std::printf("%d steps\n", step - 2);
  EXPECT_GT(step, 50);
  EXPECT_EQ(effects_.size(), kCalls);
}

// Who comes after a crash may rely on what its predecessor did only as far as that is on the disk.
TEST_F(CrashTest, AfterACrashLosesNothingThatWasAcknowledged) {
  std::mt19937_64 random(2);
  int first = 1;
  for (bool ended = false; !ended; ++first) {
    const AuditDir dir;
    Synced synced(dir.root());
    heads_.heads.clear();
    effects_.clear();
    ended = run_to(dir, synced, first, Moment::kAfter);
    const int second = 8 + static_cast<int>(random() % 30);
    SCOPED_TRACE("step " + std::to_string(first) + ", then step " + std::to_string(second));
    run_to(dir, synced, second, Moment::kBefore);
    synced.lose_power(nullptr);
    expect_whole(dir);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Crash, KillTest,
                         ::testing::Combine(::testing::Values(Moment::kBefore, Moment::kAfter),
                                            ::testing::Values(Loss::kNone, Loss::kAll, Loss::kSome)));

}  // namespace
}  // namespace casemate::audit
