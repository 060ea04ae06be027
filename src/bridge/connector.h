// What gives a capability its body. The engine's caller supplies these; connect has the ones that we have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/recorded.h"
#include "base/clock.h"
#include "base/result.h"

namespace casemate::bridge {

// One call that was judged. The views live for the call.
struct ConnectorCall {
  std::string_view capability;
  std::string_view arguments;  // JSON, an object that the capability's schema allows, in the guest's own text
  std::string_view run;
  // The same for a call that is made again, and for no other.
  std::string_view idempotency_key;
};

// What became of it.
struct ConnectorAnswer {
  enum class Kind {
    kValue,      // `text` is the result, as JSON
    kToolError,  // the capability itself says that it failed; `text` says how, for whoever called
    kNotDone,    // it was not reached: nothing was done; `text` says why, in words of ours
    kDeclined,   // it was reached, and says that nothing was done; `text` says why, in its words
    kUnknown,    // it was reached, and what came back is no answer: nobody knows what was done
  };
  Kind kind = Kind::kValue;
  std::string text;
};

// Thread-safe: any number of calls at once.
class Connector {
 public:
  virtual ~Connector() = default;
  // Makes the call; returns by the deadline. Only a record of the call's verdict makes it possible, and each
  // record once. Never made again by itself: what may have had an effect is for the caller to decide.
  virtual ConnectorAnswer call(audit::Recorded record, const ConnectorCall& call, Deadline deadline) = 0;
  // True when call() neither waits nor takes long: such calls are made where the guest is listened to,
  // without a thread between.
  virtual bool immediate() const { return false; }
};

}  // namespace casemate::bridge
