#include "run_output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "crypto/random.h"
#include "json/utf8.h"
#include "sys/fd.h"

namespace casemate {
namespace {

using outcome::Outcome;
using outcome::Status;

// To a descriptor that may be a slow terminal or a pipe that nobody reads any more: what cannot be
// written is dropped, the run goes on. So is what a reader does not take before `cancel` becomes readable,
// or Ctrl-C would wait for that reader. False, with errno, when not all of it was written.
bool write_out(int fd, std::string_view bytes, const sys::Fd* cancel = nullptr) {
  while (!bytes.empty()) {
    std::array<pollfd, 2> items = {{{fd, POLLOUT, 0}, {cancel != nullptr ? cancel->get() : -1, POLLIN, 0}}};
    if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR) return false;
    if (items[1].revents != 0) {
      errno = ECANCELED;
      return false;
    }
    if (items[0].revents == 0) continue;
    // A pipe that can be written takes PIPE_BUF bytes without blocking; of more it may wait. pipe(7).
    const ssize_t put = ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

const char* color_of(Status status) {
  switch (status) {
    case Status::kOk: return "\033[32m";
    case Status::kError: return "\033[31m";
    case Status::kLimit:
    case Status::kCancelled: return "\033[33m";
    case Status::kRefused:
    case Status::kUnavailable: return "\033[35m";
  }
  return "";
}

}  // namespace

RunOutput::RunOutput(Options options) : options_(options) {
  sides_[0].fd = STDOUT_FILENO;
  sides_[1].fd = STDERR_FILENO;
  for (Side& side : sides_) side.terminal = ::isatty(side.fd) == 1;
}

void RunOutput::live(outcome::Stream stream, std::string_view bytes) {
  if (options_.json) return;
  Side& side = sides_[stream == outcome::Stream::kStdout ? 0 : 1];
  if (!side.terminal) {
    (void)write_out(side.fd, bytes, cancel_);
    return;
  }
  std::string text;
  std::string shown;
  side.text.feed(bytes, text);
  side.escaper.feed(text, shown);
  (void)write_out(side.fd, shown, cancel_);
}

void RunOutput::summary(const Outcome& outcome) const {
  const outcome::Ending& ending = outcome.ending;
  std::string text;
  if (outcome.result) {
    for (const auto& [type, value] : *outcome.result) {
      if (type != "text/plain") continue;
      (void)write_out(STDOUT_FILENO, (sides_[0].terminal ? json::escape_control(value) : value) + "\n");
    }
  }
  if (ending.exception) {
    text += ending.exception->rendered.value_or(ending.exception->type + ": " + ending.exception->message);
    if (text.empty() || text.back() != '\n') text += "\n";
    for (const std::string& hint : ending.exception->hints) text += "  " + hint + "\n";
  }
  for (const outcome::Artifact& artifact : outcome.artifacts) {
    text += "[artifact] ";
    text += artifact.state == outcome::ArtifactState::kStored
                ? artifact.uri
                : artifact.name + " (" + artifact.description + ")";
    if (!artifact.summary.empty()) text += "  \"" + artifact.summary + "\"";
    text += "\n";
  }
  std::string line;
  if (ending.status == Status::kOk) {
    line = "ok";
  } else {
    line = outcome::status_name(ending.status);
    if (ending.limit) {
      line += std::string(": ") + outcome::limit_name(ending.limit->name) + " limit of " +
              outcome::limit_amount(ending.limit->name, ending.limit->ceiling) + " reached. " +
              ending.limit->advice;
    } else if (ending.reason) {
      line += std::string(": ") + outcome::reason_name(ending.reason->code) + ": " + ending.reason->message;
    } else if (ending.signal) {
      line += ": killed by " + outcome::signal_name(*ending.signal);
    } else if (ending.exit_code) {
      line += ": exit code " + std::to_string(*ending.exit_code);
    }
  }
  for (const outcome::MetLimit& met : ending.limits_met) {
    line += std::string(" (met the ") + outcome::limit_name(met.name) + " limit of " +
            outcome::limit_amount(met.name, met.ceiling) + ")";
  }
  if (outcome.below_floor) line += " (below the floor that its trust asks for)";
  for (const outcome::Weakening& weakening : outcome.weakenings) {
    line += " (weakened: " + weakening.name + ", so " + weakening.loss + ")";
  }
  if (outcome.teardown == outcome::TeardownVerdict::kQuarantined)
    line += " (the box is quarantined: see `casemate doctor`)";
  text = json::escape_control(text);
  const std::string shown = json::escape_control(line);
  const bool plain_ok = ending.status == Status::kOk && ending.limits_met.empty() && !outcome.below_floor &&
                        outcome.weakenings.empty() &&
                        outcome.teardown != outcome::TeardownVerdict::kQuarantined;
  if (!plain_ok) {
    text += sides_[1].terminal ? std::string(color_of(ending.status)) + "casemate: " + shown + "\033[0m\n"
                               : "casemate: " + shown + "\n";
  }
  (void)write_out(STDERR_FILENO, text);
}

int RunOutput::finish(Outcome outcome) {
  for (Side& side : sides_) {
    if (!side.terminal) continue;
    std::string text;
    std::string shown;
    side.text.finish(text);
    side.escaper.feed(text, shown);
    side.escaper.finish(shown);
    (void)write_out(side.fd, shown);
  }
  if (!options_.record) outcome.record.reset();
  if (options_.json) {
    if (!write_out(STDOUT_FILENO, outcome::write_json(outcome) + "\n")) {
      const std::string why = std::strerror(errno);
      (void)write_out(STDERR_FILENO,
                      "casemate: the outcome cannot be written to standard output: " + why + "\n");
      return outcome::kExitUnavailable;
    }
  } else if (!options_.quiet || outcome.ending.status == Status::kRefused ||
             outcome.ending.status == Status::kUnavailable) {
    summary(outcome);
  }
  if (options_.record && !options_.json) {
    (void)write_out(STDERR_FILENO, outcome.record
                                       ? json::escape_control(outcome::record_text(*outcome.record))
                                       : "casemate: no box was made, so there is no record\n");
  }
  return outcome::exit_code(outcome);
}

std::string default_out_name() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  (void)::gmtime_r(&seconds, &parts);
  std::array<char, 32> stamp{};
  (void)std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &parts);
  return std::string(stamp.data()) + "-" + crypto::random_hex(3);
}

}  // namespace casemate
