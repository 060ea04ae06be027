#include "ask_terminal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "approve/text.h"
#include "json/utf8.h"

namespace casemate {
namespace {

using approve::Answer;

constexpr milliseconds kLookAgain{250};  // whether somebody else has answered
constexpr std::size_t kLineMax = std::size_t{64} << 10;
constexpr const char* kBy = "terminal";

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

// Up to the first space, and what follows it.
std::pair<std::string, std::string> first_word(const std::string& line) {
  const std::size_t end = line.find(' ');
  if (end == std::string::npos) return {line, ""};
  return {line.substr(0, end), line.substr(end + 1)};
}

}  // namespace

Result<std::unique_ptr<AskTerminal>> AskTerminal::start(approve::Desk& desk) {
  sys::Fd changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!changed) return fail_errno("eventfd");
  return std::unique_ptr<AskTerminal>(new AskTerminal(desk, std::move(changed)));
}

AskTerminal::AskTerminal(approve::Desk& desk, sys::Fd changed)
    : desk_(desk), changed_(std::move(changed)), thread_([this] { work(); }) {}

AskTerminal::~AskTerminal() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  (void)::eventfd_write(changed_.get(), 1);
  thread_.join();
}

void AskTerminal::waiting(bool waits) {
  {
    const std::lock_guard lock(mutex_);
    waits_ = waits;
  }
  (void)::eventfd_write(changed_.get(), 1);
}

bool AskTerminal::waits() const {
  const std::lock_guard lock(mutex_);
  return waits_ && !over_;
}

void AskTerminal::work() {
  for (;;) {
    pollfd item{changed_.get(), POLLIN, 0};
    if (::poll(&item, 1, -1) < 0 && errno != EINTR) return;
    eventfd_t count = 0;
    (void)::eventfd_read(changed_.get(), &count);
    {
      const std::lock_guard lock(mutex_);
      if (over_) return;
    }
    if (waits() && !deserted_) ask_all();
  }
}

void AskTerminal::ask_all() {
  const auto all = desk_.pending();
  std::string text =
      "\ncasemate: the program waits for you, and stands still: " + std::to_string(all.size()) +
      (all.size() == 1 ? " call has" : " calls have") + " to be approved\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += "\n[" + std::to_string(i + 1) + " of " + std::to_string(all.size()) + "] " +
            approve::question_text(*all[i].question, approve::kArgumentsShownMax);
    text += "  id        " + json::one_line(all[i].question->id, 256) + "\n";
  }
  say(text);
  // What was typed before anybody could read the question is no answer to it.
  (void)::tcflush(STDIN_FILENO, TCIFLUSH);
  typed_.clear();
  for (std::size_t i = 0; i < all.size() && waits() && !deserted_; ++i) {
    say("\n[" + std::to_string(i + 1) + " of " + std::to_string(all.size()) + "] " +
        json::one_line(all[i].question->capability, 256) + "\n");
    ask_one(all[i].question->id);
  }
}

void AskTerminal::ask_one(const std::string& id) {
  std::string line;
  while (waits()) {
    say("  (a)llow once, (d)eny [REASON], (e)dit the arguments? ");
    switch (read_line(id, line)) {
      case Read::kLine: break;
      case Read::kGone: {
        const auto gone = desk_.find(id);
        if (!gone) say("\n  " + json::one_line(gone.error().message, 512) + "\n");
        return;
      }
      case Read::kEnd: return say("\n  not answered here; `casemate approvals` can\n");
    }
    const auto [word, rest] = first_word(line);
    Answer answer{Answer::Kind::kAllow, kBy};
    if (word == "d" || word == "deny") {
      answer.kind = Answer::Kind::kDeny;
      answer.reason = json::to_text(rest).text;
    } else if (word == "e" || word == "edit") {
      if (rest.empty()) {
        say("  the arguments instead, as one line of JSON: ");
        if (read_line(id, line) != Read::kLine) continue;
      }
      answer.arguments = rest.empty() ? line : rest;
    } else if (word != "a" && word != "allow") {
      continue;
    }
    const auto done = desk_.answer(id, std::move(answer), now());
    if (done) return;
    say("  " + json::one_line(done.error().message, 2048) + "\n");
    if (done.error().code != ErrorCode::kInvalid) return;
  }
}

AskTerminal::Read AskTerminal::read_line(const std::string& id, std::string& line) {
  for (;;) {
    if (const std::size_t end = typed_.find('\n'); end != std::string::npos) {
      line = typed_.substr(0, end);
      typed_.erase(0, end + 1);
      return Read::kLine;
    }
    std::array<pollfd, 2> items = {{{STDIN_FILENO, POLLIN, 0}, {changed_.get(), POLLIN, 0}}};
    const int ready = ::poll(items.data(), items.size(), static_cast<int>(kLookAgain.count()));
    if (ready < 0 && errno != EINTR) return Read::kEnd;
    if (!waits() || !desk_.find(id)) return Read::kGone;
    if (items[1].revents != 0) {
      eventfd_t count = 0;
      (void)::eventfd_read(changed_.get(), &count);
    }
    if (ready <= 0 || items[0].revents == 0) continue;
    std::array<char, 4096> chunk{};
    const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0 || typed_.size() > kLineMax) {
      deserted_ = true;
      return Read::kEnd;
    }
    typed_.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace casemate
