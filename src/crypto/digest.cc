#include "crypto/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace casemate::crypto {
namespace {

constexpr std::size_t kReadBytes = std::size_t{128} << 10;

// Fetched once: the implicit fetch in EVP_sha256() is repeated at every use since OpenSSL 3.0.
const EVP_MD* method(DigestKind kind) {
  // Without the host's openssl.cnf: what a digest is must not depend on it, and reading it costs a
  // start more than the digest.
  static const bool ready =
      OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1;
  CHECK(ready);
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  static const EVP_MD* const md5 = EVP_MD_fetch(nullptr, "MD5", nullptr);
  return kind == DigestKind::kSha256 ? sha256 : md5;
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest(DigestKind kind) : kind_(kind), context_(EVP_MD_CTX_new()) { start(); }

void Digest::start() {
  CHECK(context_ != nullptr);
  CHECK(method(kind_) != nullptr);
  CHECK(EVP_DigestInit_ex(context_.get(), method(kind_), nullptr) == 1);
}

void Digest::update(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Digest::finish_hex() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  CHECK(EVP_DigestFinal_ex(context_.get(), out.data(), &length) == 1);
  start();
  return to_hex(std::span(out).first(length));
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
