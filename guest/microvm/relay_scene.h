// A relay between an engine and a guest that a test plays both of. For tests alone.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "microvm/relay.h"
#include "microvm/test_support.h"
#include "sys/test_support.h"

namespace casemate::guest {

// Runs from start() on, in a thread of its own. Whatever a test does, it comes to its end: what it waits for
// has a deadline, and at the end all its descriptors are closed.
class Scene {
 public:
  explicit Scene(bool parks = false, const Nonce& run = {}) {
    set_nonblocking(control_.second());
    set_nonblocking(out_.second());
    set_nonblocking(err_.second());
    set_nonblocking(port_.second());
    set_nonblocking(port_.first());
    if (parks) monitor_ = std::make_unique<Monitor>(monitor_ends_.first());
    relay_ = std::make_unique<Relay>(
        RelayEnds{control_.second(), out_.second(), err_.second(), port_.second(), layer_.path()},
        monitor_.get(), run);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene() {
    // What the engine does not read any more is dropped, and a guest that is gone ends the relay.
    for (const int fd : {port_.first(), control_.first()}) {
      if (fd >= 0) (void)::shutdown(fd, SHUT_RDWR);
    }
    out_.end_first();
    err_.end_first();
    if (thread_.joinable()) thread_.join();
  }
  void start() {
    thread_ = std::thread([this] { done_.set_value(relay_->carry()); });
  }

  bool guest_says(std::string_view bytes) { return write_whole(port_.first(), bytes); }
  bool guest_says(Message type, std::string_view payload) { return guest_says(message_of(type, payload)); }
  // The next message to the guest; nothing: none came in time, or the relay is gone.
  std::optional<ReceivedMessage> guest_hears(int for_ms = kDeadlineMs) {
    ReceivedMessage said;
    for (;;) {
      if (to_guest_.next(said) == MessageReader::Next::kMessage) return said;
      pollfd item{port_.first(), POLLIN, 0};
      if (::poll(&item, 1, for_ms) <= 0 || !to_guest_.read(port_.first())) return std::nullopt;
    }
  }
  bool ends_program(std::uint32_t status = 0) {
    GuestEnded ended;
    ended.status = status;
    ended.pids_peak = 3;
    return guest_says(Message::kEnded, bytes_of(ended));
  }

  // How it went; nothing: it goes on.
  std::optional<std::optional<GuestEnded>> result(int for_ms = kDeadlineMs) {
    if (!outcome_.valid() ||
        outcome_.wait_for(std::chrono::milliseconds(for_ms)) != std::future_status::ready)
      return std::nullopt;
    return outcome_.get();
  }
  // That it ended well, with this status; or that the guest broke its word.
  testing::AssertionResult ends_with(std::uint32_t status) {
    const auto how = result();
    if (!how) return testing::AssertionFailure() << "it goes on";
    if (!*how) return testing::AssertionFailure() << "it ended for a breach";
    if ((*how)->status != status) return testing::AssertionFailure() << "with status " << (*how)->status;
    return testing::AssertionSuccess();
  }
  testing::AssertionResult ends_for_a_breach() {
    const auto how = result();
    if (!how) return testing::AssertionFailure() << "it goes on";
    if (*how) return testing::AssertionFailure() << "it ended well";
    return testing::AssertionSuccess();
  }

  Ends& control() { return control_; }  // the first of each is the engine's
  Ends& out() { return out_; }
  Ends& err() { return err_; }
  Ends& port() { return port_; }  // the first is the guest's
  int qemu() const { return monitor_ends_.second(); }
  const sys::TestDir& layer() const { return layer_; }

 private:
  Ends control_, out_{Ends::Kind::kPipe}, err_{Ends::Kind::kPipe}, port_, monitor_ends_;
  sys::TestDir layer_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Relay> relay_;
  std::promise<std::optional<GuestEnded>> done_;
  std::future<std::optional<GuestEnded>> outcome_ = done_.get_future();
  MessageReader to_guest_;
  std::thread thread_;
};

}  // namespace casemate::guest
