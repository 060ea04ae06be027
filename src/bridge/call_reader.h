// Calls of capabilities, read from a guest's frames. Pure, and all of it hostile input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/result.h"
#include "frame/frame.h"

namespace casemate::bridge {

// As the guest asked for it: nothing of this has been judged.
struct WantedCall {
  std::uint64_t number = 0;  // the guest's, for its answer
  std::string name;        // valid UTF-8 of at most kCapabilityNameMax bytes, not known to be a capability's
  std::string arguments;   // meant to be JSON; empty when `too_large`
  bool too_large = false;  // its arguments were longer than the reader takes
};

// The frames of one guest, which has at most one call half said. Holds no more than `arguments_max`.
class CallReader {
 public:
  explicit CallReader(Bytes arguments_max) : arguments_max_(arguments_max) {}
  static bool is_call(const frame::Frame& frame);
  // Takes a frame that is_call(). The call, once it is whole.
  // Errors: invalid, for what is none of the protocol: numbers that do not grow, a piece of another call or
  // of none, a name that is none, fields that do not belong. The guest is then not to be listened to any
  // more.
  Result<std::optional<WantedCall>> add(const frame::Frame& frame);

 private:
  Bytes arguments_max_;
  std::uint64_t last_number_ = 0;
  std::optional<WantedCall> partial_;
};

}  // namespace casemate::bridge
