#include "sys/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "sys/test_support.h"

namespace casemate::sys {
namespace {

constexpr milliseconds kLong{20'000};

struct Output {
  std::string text;
  ExitStatus status;
};

// Runs a program with its standard output in a pipe; `more` are its descriptors from 3 on.
Output output_of(SpawnOptions options, const std::vector<int>& more = {}) {
  Pair pipe = *make_pipe();
  options.fds = {-1, pipe.second.get(), -1};
  options.fds.insert(options.fds.end(), more.begin(), more.end());
  auto child = spawn(options);
  if (!child) return {child.error().message, {}};
  pipe.second.reset();
  Output output;
  output.text = read_file(pipe.first, 1 << 20).value();
  output.status = child->wait(Deadline::in(kLong)).value();
  return output;
}

SpawnOptions shell(const std::string& script) { return {"/bin/sh", {"sh", "-c", script}, {}, {}, false}; }

TEST(OpenFiles, AreRaisedToTheHardLimitForChildrenToo) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) < 0) ::_exit(1);
    files.rlim_max = std::min<rlim_t>(files.rlim_max, 300);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 100);
    if (::setrlimit(RLIMIT_NOFILE, &files) < 0) ::_exit(2);
    if (raise_open_files() != files.rlim_max) ::_exit(3);
    ::_exit(output_of(shell("ulimit -n")).text == std::to_string(files.rlim_max) + "\n" ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(ExitStatus, TellsACodeFromASignal) {
  EXPECT_EQ(exit_status_of(0).code, 0);
  EXPECT_FALSE(exit_status_of(0).signal);
  EXPECT_EQ(exit_status_of(W_EXITCODE(7, 0)).code, 7);
  EXPECT_EQ(exit_status_of(W_EXITCODE(255, 0)).code, 255);
  EXPECT_EQ(exit_status_of(W_EXITCODE(0, SIGKILL)).signal, SIGKILL);
  EXPECT_FALSE(exit_status_of(W_EXITCODE(0, SIGKILL)).code);
  EXPECT_EQ(exit_status_of(W_EXITCODE(0, SIGSEGV) | WCOREFLAG).signal, SIGSEGV);
}

TEST(Spawn, InheritsExactlyTheGivenDescriptors) {
  // Open here and not close-on-exec: what another part of the process may have left.
  const Fd stray(::open("/dev/zero", O_RDONLY));
  const Fd high(::fcntl(stray.get(), F_DUPFD, 100));
  const Pair extra = *make_stream_pair();
  // ls itself opens the directory, with the lowest number that is free.
  const SpawnOptions list{"/bin/ls", {"ls", "/proc/self/fd"}, {}, {}, false};
  EXPECT_EQ(output_of(list).text, "0\n1\n2\n3\n");
  EXPECT_EQ(output_of(list, {extra.first.get()}).text, "0\n1\n2\n3\n4\n");
  EXPECT_EQ(output_of(list, {extra.first.get(), high.get(), extra.second.get()}).text,
            "0\n1\n2\n3\n4\n5\n6\n");
}

TEST(Spawn, PlacesDescriptorsWhoseNumbersCross) {
  const TestDir dir;
  for (const std::string name : {"a", "b", "c", "d"}) write_text(dir / name, name);
  std::vector<Fd> files;
  for (const std::string name : {"a", "b", "c", "d"})
    files.push_back(*open_at(AT_FDCWD, dir / name, O_RDONLY));
  // In the child they become 3, 4, 5, 6, which here are other files or each other.
  const Output output = output_of(shell("cat <&3; cat <&4; cat <&5; cat <&6"),
                                  {files[3].get(), files[2].get(), files[1].get(), files[0].get()});
  EXPECT_EQ(output.text, "dcba");
}

TEST(Spawn, GivesDevNullWhereNothingIsGiven) {
  EXPECT_EQ(output_of(shell("cat; readlink /proc/self/fd/0; readlink /proc/self/fd/2")).text,
            "/dev/null\n/dev/null\n");
}

TEST(Spawn, GivesExactlyTheEnvironment) {
  ASSERT_EQ(::setenv("CASEMATE_TEST_SECRET", "x", 1), 0);
  const auto environment_of = [](const std::vector<std::string>& environment) {
    return output_of({"/usr/bin/env", {"env"}, environment, {}, false}).text;
  };
  EXPECT_EQ(environment_of({}), "");
  EXPECT_EQ(environment_of({"A=1", "EMPTY=", "B=two words"}), "A=1\nEMPTY=\nB=two words\n");
  ASSERT_EQ(::unsetenv("CASEMATE_TEST_SECRET"), 0);
}

TEST(Spawn, GivesTheArgumentsAsTheyAre) {
  const Output output =
      output_of({"/bin/sh", {"sh", "-c", "printf '%s|' \"$@\"", "zero", "", "a b", "\n"}, {}, {}, false});
  EXPECT_EQ(output.text, "|a b|\n|");
}

TEST(Spawn, LeavesNoSignalBlockedOrIgnored) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, &usr1, nullptr), 0);
  (void)::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(output_of(shell("kill -USR1 $$; echo alive")).status.signal, SIGUSR1);
  EXPECT_EQ(output_of(shell("kill -PIPE $$; echo alive")).status.signal, SIGPIPE);
  ASSERT_EQ(::sigprocmask(SIG_UNBLOCK, &usr1, nullptr), 0);
}

TEST(Spawn, MakesASessionWhenAsked) {
  // The session is the sixth field of stat(5)'s line.
  const std::string script = "read a b c d e f g < /proc/self/stat; test $f = $$ && echo own || echo shared";
  EXPECT_EQ(output_of(shell(script)).text, "shared\n");
  SpawnOptions own = shell(script);
  own.new_session = true;
  EXPECT_EQ(output_of(own).text, "own\n");
  own = shell("kill -INT $$; echo alive");
  own.new_session = true;
  EXPECT_EQ(output_of(own).status.signal, SIGINT);  // it is not ignored for good
}

TEST(Spawn, SaysWhatIsWrongWithAProgram) {
  if (kVforkIsFork) {
    EXPECT_EQ(spawn({"/none", {"none"}, {}, {}, false})->wait(Deadline::in(kLong))->code, 127);
    return;
  }
  const std::size_t before = open_descriptors();
  const TestDir dir;
  write_text(dir / "text", "no program");
  const auto missing = spawn({dir / "none", {"none"}, {}, {}, false});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const auto refused = spawn({dir / "text", {"text"}, {}, {}, false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kSystem);
  EXPECT_EQ(refused.error().errno_value, EACCES);
  const auto many = spawn({"/bin/true", {"true"}, {}, std::vector<int>(17, 0), false});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kInternal);
  const auto closed = spawn({"/bin/true", {"true"}, {}, {-1, -1, -1, 9999}, false});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().errno_value, EBADF);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // and no child is left, dead or alive
}

TEST(Child, TellsHowItEnded) {
  auto child = spawn(shell("exit 7"));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(Deadline::in(kLong))->code, 7);
  EXPECT_FALSE(*child);
  auto killed = spawn(shell("kill -9 $$"));
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->wait(Deadline::in(kLong))->signal, SIGKILL);
}

TEST(Child, WaitsNoLongerThanItsDeadline) {
  auto child = spawn({"/bin/sleep", {"sleep", "60"}, {}, {}, false});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(Deadline::in(milliseconds{20})).error().code, ErrorCode::kDeadline);
  EXPECT_FALSE(child->poll()->has_value());
  child->kill();
  EXPECT_EQ(child->wait(Deadline::in(kLong))->signal, SIGKILL);
}

bool exists(int pid) { return ::kill(pid, 0) == 0; }

TEST(Child, IsKilledAndReapedWhenItGoesOutOfScope) {
  const std::size_t before = open_descriptors();
  int pid = 0;
  {
    const auto child = spawn({"/bin/sleep", {"sleep", "60"}, {}, {}, false});
    ASSERT_TRUE(child);
    pid = child->pid();
    EXPECT_TRUE(exists(pid));
  }
  EXPECT_FALSE(exists(pid));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Child, IsKilledWhenAnotherTakesItsPlace) {
  Child child = *spawn({"/bin/sleep", {"sleep", "60"}, {}, {}, false});
  const int first = child.pid();
  child = *spawn({"/bin/sleep", {"sleep", "60"}, {}, {}, false});
  EXPECT_FALSE(exists(first));
  EXPECT_TRUE(exists(child.pid()));
  Child moved = std::move(child);
  EXPECT_FALSE(child);  // NOLINT: what a move leaves is part of the contract
  EXPECT_TRUE(exists(moved.pid()));
}

}  // namespace
}  // namespace casemate::sys
