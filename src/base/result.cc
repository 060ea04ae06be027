#include "base/result.h"

#include <cstring>

namespace casemate {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kDenied: return "denied";
    case ErrorCode::kExhausted: return "exhausted";
    case ErrorCode::kDeadline: return "deadline";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kSystem: return "system";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

tl::unexpected<Error> fail_errno(std::string what, int errno_value) {
  return tl::unexpected<Error>(
      Error{ErrorCode::kSystem, std::move(what) + ": " + std::strerror(errno_value), errno_value});
}

tl::unexpected<Error> fail_errno(std::string what) {
  const int saved = errno;
  return fail_errno(std::move(what), saved);
}

tl::unexpected<Error> fail_with_context(Error error, const std::string& context) {
  error.message = context + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace casemate
