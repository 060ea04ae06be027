// Capabilities whose body is the program that uses the engine itself: it takes calls, one after the other,
// from whatever thread it likes, and answers each.
//
//     auto caller = std::make_shared<CallerConnector>(CallerConnector::Options{});
//     tool.connector = caller;                       // and in threads of its own:
//     while (auto taken = caller->take(deadline)) taken->answer({Kind::kValue, do_it(taken->call())});
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bridge/connector.h"

namespace casemate::connect {

// Thread-safe. Taken calls may outlive it.
class CallerConnector final : public bridge::Connector {
  struct Call;

 public:
  struct Options {
    std::size_t waiting_max = 1024;  // calls that nobody has taken; one more is not done
  };

  // One call, for whoever took it to answer. Move-only; one thread at a time. Dropped without an answer, it
  // is answered as one of which nobody knows what it did.
  class Taken {
   public:
    Taken(Taken&& other) noexcept = default;
    Taken& operator=(Taken&&) = delete;
    ~Taken();

    const std::string& capability() const;
    const std::string& arguments() const;  // JSON, an object
    const std::string& run() const;
    const std::string& idempotency_key() const;
    Deadline deadline() const;

    // Once; a second time is a bug. kNotDone counts as kDeclined, since the text may come from anywhere.
    // False: nobody waits for it any more, and the program was told that nobody knows what it did.
    bool answer(bridge::ConnectorAnswer answer) &&;

   private:
    friend class CallerConnector;
    explicit Taken(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    std::shared_ptr<Call> call_;
  };

  CallerConnector() : CallerConnector(Options{}) {}
  explicit CallerConnector(Options options) : options_(options) {}
  // close() first; call() must have returned by then.
  ~CallerConnector() override { close(); }

  // Waits until somebody has taken the call and answered it. One that nobody has taken by the deadline is not
  // done, and never taken; one that was taken, and not answered, is unknown.
  bridge::ConnectorAnswer call(audit::Recorded record, const bridge::ConnectorCall& call,
                               Deadline deadline) override;

  // The oldest that waits. Nothing: none came in time, or it is closed.
  std::optional<Taken> take(Deadline deadline);

  // Nobody will take any more: calls that wait are not done, those that were taken may be answered still.
  void close();

 private:
  const Options options_;
  std::mutex mutex_;
  std::condition_variable waiting_changed_;
  std::deque<std::shared_ptr<Call>> waiting_;
  bool closed_ = false;
};

}  // namespace casemate::connect
