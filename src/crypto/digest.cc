#include "crypto/digest.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace casemate::crypto {
namespace {

constexpr std::size_t kReadBytes = std::size_t{128} << 10;

const std::uint8_t* octets(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace

Digest::Digest(DigestKind kind) {
  if (kind == DigestKind::kSha256) {
    nettle_sha256_init(&context_.emplace<sha256_ctx>());
  } else {
    nettle_md5_init(&context_.emplace<md5_ctx>());
  }
}

void Digest::update(std::string_view bytes) {
  if (auto* sha256 = std::get_if<sha256_ctx>(&context_)) {
    nettle_sha256_update(sha256, bytes.size(), octets(bytes));
  } else if (auto* md5 = std::get_if<md5_ctx>(&context_)) {
    nettle_md5_update(md5, bytes.size(), octets(bytes));
  }
}

std::string Digest::finish_hex() {
  if (auto* sha256 = std::get_if<sha256_ctx>(&context_)) {
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> out{};
    nettle_sha256_digest(sha256, out.size(), out.data());
    return to_hex(out);
  }
  std::array<std::uint8_t, MD5_DIGEST_SIZE> out{};
  nettle_md5_digest(std::get_if<md5_ctx>(&context_), out.size(), out.data());
  return to_hex(out);
}

std::string digest_hex(DigestKind kind, std::string_view bytes) {
  Digest digest(kind);
  digest.update(bytes);
  return digest.finish_hex();
}

Result<std::string> digest_hex_of(DigestKind kind, int fd) {
  Digest digest(kind);
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read");
    if (got == 0) return digest.finish_hex();
    digest.update({buffer.data(), static_cast<std::size_t>(got)});
  }
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

bool is_lower_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace casemate::crypto
