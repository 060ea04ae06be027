// How long work shows itself on standard error: one line that is drawn again and again on a terminal,
// one line per stage elsewhere. Standard output has the answer alone.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "image/progress.h"

namespace casemate {

class TerminalProgress final : public image::Progress {
 public:
  TerminalProgress();
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;
  ~TerminalProgress() override { clear(); }

  void stage(std::string_view what) override;
  void advance(std::uint64_t done, std::uint64_t total) override;
  void note(std::string_view line) override;

 private:
  void clear() const;

  bool terminal_;
  std::string stage_;
  Instant drawn_at_;
};

}  // namespace casemate
