#include "terminal_progress.h"

#include <unistd.h>

#include <cstdio>

namespace casemate {
namespace {

constexpr milliseconds kRedrawSpan{100};

}  // namespace

TerminalProgress::TerminalProgress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void TerminalProgress::stage(std::string_view what) {
  stage_ = what;
  drawn_at_ = {};
  if (terminal_) {
    advance(0, 0);
  } else {
    std::fprintf(stderr, "%s\n", stage_.c_str());
  }
}

void TerminalProgress::advance(std::uint64_t done, std::uint64_t total) {
  if (!terminal_ || now() - drawn_at_ < kRedrawSpan) return;
  drawn_at_ = now();
  constexpr std::uint64_t kWidth = 30;
  const std::uint64_t filled = total == 0 ? 0 : kWidth * done / total;
  std::string bar(filled, '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r\033[K[%s] %3llu %% %s", bar.c_str(),
               static_cast<unsigned long long>(total == 0 ? 0 : 100 * done / total), stage_.c_str());
  std::fflush(stderr);
}

void TerminalProgress::note(std::string_view line) {
  clear();
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void TerminalProgress::clear() const {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

}  // namespace casemate
