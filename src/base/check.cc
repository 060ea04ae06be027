#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace casemate::detail {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "casemate: internal error: %s:%d: CHECK(%s)\n", file, line, condition);
  std::abort();
}

}  // namespace casemate::detail
