// Brings what one warden says to the runs that go on at once.
//
//     the warden ── socket ──▶ hear(), one thread ──┬─▶ the line of the run whose box it is about
//                                                   └─▶ what is about no such box: nests, and slots without a
//                                                   run
//
// What runs ask goes to the warden directly: a message is sent whole.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "box/warden_line.h"
#include "sys/fd.h"

namespace casemate::engine {

class Switchboard {
 public:
  // The references outlive this, and this outlives its lines.
  explicit Switchboard(box::WardenLine& warden) : warden_(warden) {}

  // What a run reads of its box, in place of the warden itself.
  class Line final : public box::WardenLine {
   public:
    ~Line() override;
    Line(const Line&) = delete;
    const sys::Fd& readable() const override { return ready_; }
    Result<void> tell(std::string_view message, std::span<const int> fds) override;
    Result<sys::Message> receive(Deadline deadline) override;
    // From now on what is said of the box goes where that of others goes, as this has to, which was not read.
    std::vector<box::WardenEvent> close();

   private:
    friend class Switchboard;
    Line(Switchboard& board, std::uint64_t box, sys::Fd ready)
        : board_(board), box_(box), ready_(std::move(ready)) {}

    Switchboard& board_;
    const std::uint64_t box_;
    sys::Fd ready_;  // an eventfd: one for each message that waits
    // Guarded by the board's mutex.
    std::deque<sys::Message> messages_;
    bool lost_ = false;
  };

  // Thread-safe. To be had before anything is said of the box; while it lives, it has all that is.
  // Errors: system.
  Result<std::unique_ptr<Line>> line(std::uint64_t box);

  // By the one thread that reads the warden. The message back: it is about no box that has a line.
  std::optional<sys::Message> hand_on(sys::Message message);
  // The warden is gone: each line says so from now on, those that come as well.
  void lose();

 private:
  box::WardenLine& warden_;
  std::mutex mutex_;
  std::map<std::uint64_t, Line*> lines_;
  bool lost_ = false;
};

}  // namespace casemate::engine
