// Result<T>: how every fallible function of casemate answers.
//
// A class over tl::expected and not an alias of it, because GCC 12 does not warn when the value
// of a [[nodiscard]] alias is dropped.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace casemate {

// The nine kinds of failure. One table per interface maps them (CLI exit code, HTTP, JSON-RPC).
enum class ErrorCode {
  kInvalid,      // the request is wrong; saying it again will not help
  kNotFound,     // the thing named does not exist
  kDenied,       // policy or a missing privilege forbids it
  kExhausted,    // a limit of ours or of the host is reached
  kDeadline,     // it did not happen in time
  kCancelled,    // somebody asked for it to stop
  kUnavailable,  // a part that we need is not there now
  kSystem,       // the kernel refused; errno_value says why
  kInternal,     // a bug of ours
};

// "invalid", "not_found", ... in the order above.
const char* error_code_name(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line, for a person, without a trailing full stop
  int errno_value = 0;  // 0 unless code is kSystem
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base&& base) : Base(std::move(base)) {}
};

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), 0});
}

// For a system call that failed just now: takes errno first, then formats "what: strerror".
tl::unexpected<Error> fail_errno(std::string what);
// The same with an errno that was kept.
tl::unexpected<Error> fail_errno(std::string what, int errno_value);

// Puts "context: " in front of the message and keeps the rest.
tl::unexpected<Error> fail_with_context(Error error, const std::string& context);

}  // namespace casemate

// Passes the error of `expression` up, else yields its value. A statement expression, because a
// value that cannot be copied must come out of it too.
#define TRY(expression)                                              \
  ({                                                                 \
    auto&& try_result_ = (expression);                               \
    if (!try_result_) [[unlikely]]                                   \
      return tl::unexpected<::casemate::Error>(try_result_.error()); \
    ::casemate::detail::take(std::move(try_result_));                \
  })

namespace casemate::detail {
template <typename T>
T take(Result<T>&& result) {
  return std::move(*result);
}
inline void take(Result<void>&&) {}
}  // namespace casemate::detail
