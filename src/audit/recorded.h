// What shows that something was written down before it happens.
//
// Only Log makes these. A connector takes a Recorded by value: so no call is made that the log does not have,
// and no record serves for two calls. tests/tree/proof_of_record.cc shows that other code cannot make one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "audit/line.h"

namespace casemate::audit {

class Log;

// One call of one run, and where its record is. Move-only; what was moved from names no call.
class CallRecord {
 public:
  CallRecord(CallRecord&& other) noexcept
      : run_(std::exchange(other.run_, {})),
        call_(std::exchange(other.call_, {})),
        capability_(std::exchange(other.capability_, {})),
        position_(std::exchange(other.position_, Position{0, {}})) {}
  CallRecord& operator=(CallRecord&& other) noexcept {
    run_ = std::exchange(other.run_, {});
    call_ = std::exchange(other.call_, {});
    capability_ = std::exchange(other.capability_, {});
    position_ = std::exchange(other.position_, Position{0, {}});
    return *this;
  }
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // False once it was moved from.
  bool valid() const { return position_.sequence != 0; }
  const std::string& run() const { return run_; }
  const std::string& call() const { return call_; }
  const std::string& capability() const { return capability_; }
  std::uint64_t sequence() const { return position_.sequence; }
  const std::string& digest() const { return position_.digest; }

 protected:
  CallRecord(std::string run, std::string call, std::string capability, Position position)
      : run_(std::move(run)),
        call_(std::move(call)),
        capability_(std::move(capability)),
        position_(std::move(position)) {}
  ~CallRecord() = default;

 private:
  std::string run_;
  std::string call_;
  std::string capability_;
  Position position_;
};

// The call was allowed, and that is in the log: it may be made, once.
class Recorded final : public CallRecord {
 private:
  friend class Log;
  Recorded(std::string run, std::string call, std::string capability, Position position)
      : CallRecord(std::move(run), std::move(call), std::move(capability), std::move(position)) {}
};

// The call waits for an answer, and that is in the log: Log::record() takes the answer, once.
class Asked final : public CallRecord {
 private:
  friend class Log;
  Asked(std::string run, std::string call, std::string capability, Position position)
      : CallRecord(std::move(run), std::move(call), std::move(capability), std::move(position)) {}
};

// The call was denied, and that is in the log.
struct Refused {
  Position position;
};

using Judged = std::variant<Refused, Asked, Recorded>;
using Answered = std::variant<Refused, Recorded>;

}  // namespace casemate::audit
