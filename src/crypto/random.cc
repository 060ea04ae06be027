#include "crypto/random.h"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "base/check.h"
#include "crypto/digest.h"

namespace casemate::crypto {

void fill_random(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::uint8_t> raw(bytes);
  fill_random(raw);
  return to_hex(raw);
}

std::string random_id() { return random_hex(16); }

}  // namespace casemate::crypto
