// The engine's end of the warden's protocol: starts a private warden and talks to it.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "box/warden_line.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace casemate::box {

struct WardenOptions {
  std::string program;  // path of casemate-warden
  Weakenings weakenings;
};

// A private warden, one per engine. One thread. Its destructor closes the socket, which makes the
// warden destroy every box and clean up, and waits for that.
class WardenClient final : public WardenLine {
 public:
  // Starts the program and returns at once; hello() waits for its word.
  static Result<WardenClient> start(const WardenOptions& options);
  // What the host gives. Where an ordinary user lacks a delegated control group and has a systemd user
  // manager, the warden is started again in a scope of its own.
  // Errors: denied (boxes cannot be made here: the message says why and what to do), unavailable, deadline.
  Result<frame::Hello> hello(Deadline deadline);
  // A box may be asked for before hello(): a warden that can goes on with it at once, which saves a cold
  // run two wake-ups. One that cannot reads and drops it. True when hello() started another one, which has
  // then to be asked again.
  bool started_again() const { return started_again_; }

  WardenClient(WardenClient&&) noexcept = default;
  WardenClient& operator=(WardenClient&&) = delete;
  ~WardenClient() override;

  const sys::Fd& readable() const override { return socket_; }
  Result<void> tell(std::string_view message, std::span<const int> fds) override;
  Result<sys::Message> receive(Deadline deadline) override;
  int pid() const { return child_.pid(); }

 private:
  WardenClient(WardenOptions options, sys::Fd socket, sys::Child child)
      : options_(std::move(options)), socket_(std::move(socket)), child_(std::move(child)) {}

  WardenOptions options_;
  sys::Fd socket_;
  sys::Child child_;
  bool started_again_ = false;
};

}  // namespace casemate::box
