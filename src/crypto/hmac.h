// HMAC-SHA256 (RFC 2104): a digest that only who has the key can make or compare.
#pragma once

#include <nettle/hmac.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace casemate::crypto {

// A key, made ready for use. Immutable; cannot be printed or read back.
class HmacKey {
 public:
  // `key` may have any length; 32 random bytes are right. It is not kept as such.
  explicit HmacKey(std::span<const std::uint8_t> key);

  // 64 lower-case hex digits.
  std::string hex_of(std::string_view bytes) const;

 private:
  hmac_sha256_ctx context_;
};

}  // namespace casemate::crypto
