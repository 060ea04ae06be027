// Message digests. SHA-256 is what casemate names content by; MD5 exists only because Debian's
// package database records it, to find damage and not to resist an attacker.
#pragma once

#include <nettle/md5.h>
#include <nettle/sha2.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace casemate::crypto {

enum class DigestKind { kSha256, kMd5 };

// A digest that is fed piece by piece. One thread. After finish_hex() it starts anew.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  void update(std::string_view bytes);
  // Lower-case hex: 64 characters for SHA-256, 32 for MD5.
  std::string finish_hex();

 private:
  std::variant<sha256_ctx, md5_ctx> context_;
};

std::string digest_hex(DigestKind kind, std::string_view bytes);
// Of what read(2) yields from here to the end of the descriptor. Errors: system.
Result<std::string> digest_hex_of(DigestKind kind, int fd);

std::string to_hex(std::span<const std::uint8_t> bytes);
// Exactly `digits` characters, all of them 0-9 or a-f.
bool is_lower_hex(std::string_view text, std::size_t digits);

}  // namespace casemate::crypto
