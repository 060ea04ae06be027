// CHECK: for bugs of ours. It stays on in every build, prints one line and aborts.
#pragma once

namespace casemate::detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::casemate::detail::check_failed(__FILE__, __LINE__, #condition))
