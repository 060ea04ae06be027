// Theory of operation: the program has our standard output and error as they are, and a pipe of ours as its
// standard input. What comes on ours is looked at line by line, and is handed on as it came; the bytes that
// end a line not before that line is written down. So whatever a line made the program do has been seen.
#include "tap_command.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "json/utf8.h"
#include "json/writer.h"
#include "options.h"
#include "reconcile/json_lines.h"
#include "reconcile/rows.h"
#include "sys/fd.h"
#include "sys/process.h"

extern char** environ;

namespace casemate {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitUnavailable = 4;
constexpr std::size_t kReadChunk = std::size_t{64} << 10;
constexpr milliseconds kLogTime{10'000};
// A program that does not read is ended after this, and so is one that does not end when nobody asks.
constexpr milliseconds kPatience{60'000};

int report(const std::string& what) {
  std::fprintf(stderr, "casemate tap: %s\n", json::escape_control(what).c_str());
  return kExitUnavailable;
}

// What an observer can say of a line that is no request, which reconcile takes for an offender.
std::string unknown_line(const std::string& why, std::size_t bytes) {
  json::Writer out;
  out.begin_object().field("unreadable", json::one_line(why, reconcile::kNameMax));
  out.field("bytes", bytes).field("at", audit::format_time(audit::wall_clock())).end_object();
  return std::move(out).take() + "\n";
}

class Tap {
 public:
  Tap(sys::Fd log, sys::Fd program) : log_(std::move(log)), program_(std::move(program)) {}

  // Errors: system, deadline; nothing that was not written down was handed on.
  Result<void> take(std::string_view bytes) {
    TRY(lines_.feed(bytes, [this](const reconcile::SourceLine& line) { return write_down(line); }));
    return sys::write_all(program_, bytes, Deadline::in(kPatience));
  }
  // Nothing more comes. A program may take what is left for a line.
  Result<void> end() {
    TRY(lines_.finish([this](const reconcile::SourceLine& line) { return write_down(line); }));
    program_.reset();
    return {};
  }

 private:
  Result<void> write_down(const reconcile::SourceLine& line) const {
    auto request = reconcile::request_of(line.text);
    std::string text;
    if (request) {
      request->at = audit::wall_clock();
      text = reconcile::effect_line(*request);
    } else {
      text = unknown_line(line.text.empty() ? line.fault : request.error().message, line.text.size());
    }
    auto put = sys::write_all(log_, text, Deadline::in(kLogTime));
    if (!put) return fail_with_context(put.error(), "what the program is asked cannot be written down");
    return {};
  }

  sys::Fd log_;
  sys::Fd program_;  // its standard input
  reconcile::LineSplitter lines_{"line", reconcile::kRequestLineMax};
};

int code_of(const Result<sys::ExitStatus>& ended) {
  if (!ended) return report("the program does not end, and was ended");
  return ended->code ? *ended->code : 128 + ended->signal.value_or(0);
}

int follow(Tap& tap, sys::Child& program) {
  std::vector<char> chunk(kReadChunk);
  for (;;) {
    std::array<pollfd, 2> items = {{{STDIN_FILENO, POLLIN, 0}, {program.pidfd().get(), POLLIN, 0}}};
    // Whoever asks may take as long as it likes; there is nothing else to wait for.
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) return report("poll failed");
    if (items[1].revents != 0) return code_of(program.wait(Deadline::in(kPatience)));
    if (items[0].revents == 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    const auto taken = tap.take({chunk.data(), static_cast<std::size_t>(got)});
    if (taken) continue;
    if (taken.error().errno_value == EPIPE) break;  // it has closed its input: how it ends says why
    return report(taken.error().message);
  }
  if (const auto ended = tap.end(); !ended) return report(ended.error().message);
  return code_of(program.wait(Deadline::in(kPatience)));
}

Result<sys::Fd> open_log(const std::string& path) {
  auto log = sys::open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0600);
  if (!log) return fail_with_context(log.error(), "--to");
  return log;
}

}  // namespace

int tap_command(int argc, char** argv) {
  std::string to;
  std::vector<std::string> command;
  Command table{"casemate tap",
                "Runs a connector's program and writes down each request that it is sent, before it has it.",
                {},
                {{"--to", "FILE", "where: JSON lines are added to it (needed)", &to}},
                "Put it in front of the command in a tools file. It knows nothing of the policy and reads no "
                "audit log:\n"
                "`casemate reconcile --effects FILE` holds what it saw against what was judged.\n"
                "\n"
                "Examples:\n"
                "  command = [\"casemate\", \"tap\", \"--to\", \"effects.jsonl\", \"--\", "
                "\"/usr/bin/python3\", \"books.py\"]\n"
                "  casemate tap --to effects.jsonl -- /usr/bin/python3 books.py < requests.jsonl"};
  table.rest = &command;
  if (const auto done = read_command(table, argc, argv)) return *done;
  if (to.empty() || command.empty()) {
    std::fputs(to.empty() ? "casemate tap: --to is missing: it says where requests are written down\n"
                          : "casemate tap: the program is missing: name it after `--`\n",
               stderr);
    return kExitUsage;
  }
  auto log = open_log(to);
  if (!log) return report(log.error().message);
  auto pipe = sys::make_pipe();
  if (!pipe) return report(pipe.error().message);
  if (const auto set = sys::set_nonblocking(pipe->second); !set) return report(set.error().message);
  sys::SpawnOptions spawn;
  spawn.program = sys::find_program(command.front());
  spawn.arguments = command;
  for (char** entry = environ; *entry != nullptr; ++entry) spawn.environment.emplace_back(*entry);
  spawn.fds = {pipe->first.get(), STDOUT_FILENO, STDERR_FILENO};
  auto program = sys::spawn(spawn);
  if (!program) return report(command.front() + ": " + program.error().message);
  pipe->first.reset();
  // The program's alone now: when it ends, who reads its answers is to see that.
  (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
  Tap tap(std::move(*log), std::move(pipe->second));
  return follow(tap, *program);
}

}  // namespace casemate
