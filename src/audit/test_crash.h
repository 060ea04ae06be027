// For tests that kill a process at each of its steps: a tracer (ptrace(2)), and what a loss of power would
// leave of files.
#pragma once

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
#include <string>
#include <vector>

namespace casemate::audit {

enum class Moment { kBefore, kAfter };

// What a loss of power would leave: of each file, the bytes that a sync has covered; of each directory, the
// names that one has. Everything below a directory that is empty in the beginning.
class Synced {
 public:
  explicit Synced(std::string root) : root_(std::move(root)) {}

  // A sync of this file or directory came back.
  void note(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path)) {
      bytes_[inode(path)] = std::filesystem::file_size(path);
      return;
    }
    std::erase_if(names_,
                  [&](const std::string& name) { return std::filesystem::path(name).parent_path() == path; });
    for (const auto& entry : std::filesystem::directory_iterator(path)) names_.insert(entry.path());
  }

  // Takes from the files what a loss of power may take: all of it, or with `random` a part of the bytes.
  void lose_power(std::mt19937_64* random) const {
    std::vector<std::filesystem::path> gone;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      const std::string path = entry.path();
      if (!names_.contains(path)) {
        gone.push_back(entry.path());
      } else if (entry.is_regular_file()) {
        const auto found = bytes_.find(inode(path));
        const std::uint64_t safe = found == bytes_.end() ? 0 : found->second;
        const std::uint64_t size = entry.file_size();
        if (size > safe)
          std::filesystem::resize_file(path,
                                       safe + (random == nullptr ? 0 : (*random)() % (size - safe + 1)));
      }
    }
    for (const std::filesystem::path& path : gone) std::filesystem::remove_all(path);
  }

 private:
  static ino_t inode(const std::filesystem::path& path) {
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

  // `child` has stopped itself, traced by us. True when it came to its end; then it exited with 0. Of other
  // threads and of its children nothing is counted.
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
    const std::filesystem::path path = std::filesystem::read_symlink(
        "/proc/" + std::to_string(child) + "/fd/" + std::to_string(registers.rdi), error);
    if (!error) synced_.note(path);
  }

  Synced& synced_;
  const int stop_at_;
  const Moment moment_;
  int steps_ = 0;
};

}  // namespace casemate::audit
