#include "crypto/hmac.h"

#include <array>

#include "crypto/digest.h"

namespace casemate::crypto {

HmacKey::HmacKey(std::span<const std::uint8_t> key) : context_() {
  nettle_hmac_sha256_set_key(&context_, key.size(), key.data());
}

std::string HmacKey::hex_of(std::string_view bytes) const {
  hmac_sha256_ctx context = context_;
  nettle_hmac_sha256_update(&context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> out{};
  nettle_hmac_sha256_digest(&context, out.size(), out.data());
  return to_hex(out);
}

}  // namespace casemate::crypto
