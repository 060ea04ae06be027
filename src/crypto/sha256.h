// SHA-256 of bytes and of descriptors: the name of every program, image and artifact.
#pragma once

#include <string>
#include <string_view>

#include "crypto/digest.h"

namespace casemate::crypto {

class Sha256 : public Digest {
 public:
  Sha256() : Digest(DigestKind::kSha256) {}
};

inline std::string sha256_hex(std::string_view bytes) { return digest_hex(DigestKind::kSha256, bytes); }
inline Result<std::string> sha256_hex_of(int fd) { return digest_hex_of(DigestKind::kSha256, fd); }

}  // namespace casemate::crypto
