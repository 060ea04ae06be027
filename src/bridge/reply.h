// What a guest is told about a call: a value, an error or a denial, as frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/guest.h"

namespace casemate::bridge {

// A call that has no value.
struct CallError {
  std::string code;     // one word: not_granted, invalid, failed, timeout, unavailable, exhausted
  std::string message;  // for whoever reads it, a model for one: what is wrong and what would be right
  // False: nothing was done. Nothing: nobody knows.
  std::optional<bool> effect = false;
};

// A call that policy did not allow.
struct Denial {
  std::string message, rule, reason;
};

struct Reply {
  frame::ReplyStatus status = frame::ReplyStatus::kValue;
  std::string json;                // of the value; or an object, as guest.h says
  std::vector<std::string> typed;  // of a value; at most kTypedPlacesMax
};

Reply reply_of(std::string_view capability, const CallError& error);
Reply reply_of(std::string_view capability, const Denial& denial);

// Appends its frames to `out`. The JSON may be of any size.
void append_reply(std::string& out, std::uint64_t number, const Reply& reply);

}  // namespace casemate::bridge
