#include "http_server/bearer.h"

#include <algorithm>
#include <set>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "crypto/sha256.h"
#include "http_server/head.h"
#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

constexpr std::string_view kPrefix = "casemate_";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kHashDigits = 64;

bool is_key(std::string_view text) {
  return text.starts_with(kPrefix) && crypto::is_lower_hex(text.substr(kPrefix.size()), 2 * kKeyBytes);
}

bool is_tenant(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kTenantMax && std::all_of(text.begin(), text.end(), allowed);
}

// Of two texts of kHashDigits characters. 1 if they are equal, else 0, without a branch on what is in them.
unsigned equal_hashes(const std::string& a, const std::string& b) {
  unsigned char difference = 0;
  for (std::size_t i = 0; i < kHashDigits; ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return ((static_cast<unsigned>(difference) - 1U) >> 31U) & 1U;
}

}  // namespace

Result<KeyTable> KeyTable::make(std::vector<KeyEntry> entries) {
  if (entries.size() > kKeysMax) return fail(ErrorCode::kExhausted, "there are more than 10000 keys");
  std::set<std::string_view> hashes;
  for (const KeyEntry& entry : entries) {
    if (!is_tenant(entry.tenant))
      return fail(ErrorCode::kInvalid,
                  "a tenant's name should be 1 to 64 letters, digits, dots, lines and dashes");
    if (!crypto::is_lower_hex(entry.key_sha256, kHashDigits))
      return fail(ErrorCode::kInvalid,
                  "the key of tenant " + entry.tenant + " should be kept as 64 small hex digits");
    if (!hashes.insert(entry.key_sha256).second)
      return fail(ErrorCode::kInvalid,
                  "the key of tenant " + entry.tenant + " comes twice: give each its own");
  }
  return KeyTable(std::move(entries));
}

std::optional<std::string> KeyTable::tenant_of(std::string_view key) const {
  const std::string hash = crypto::sha256_hex(key);
  std::size_t found = 0;  // one more than the index of the entry
  for (std::size_t i = 0; i < entries_.size(); ++i)
    found |= equal_hashes(entries_[i].key_sha256, hash) * (i + 1);
  if (found == 0 || !is_key(key)) return std::nullopt;
  return entries_[found - 1].tenant;
}

std::optional<std::string> KeyTable::tenant_of(const Request& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string* value = request.field("authorization");
  std::string_view key;  // of whoever has none: nobody's
  if (value != nullptr && equals_ignoring_case(std::string_view(*value).substr(0, kScheme.size()), kScheme))
    key = std::string_view(*value).substr(kScheme.size());
  return tenant_of(key);
}

Secret new_key() { return Secret(std::string(kPrefix) + crypto::random_hex(kKeyBytes)); }

std::string key_sha256(const Secret& key) { return crypto::sha256_hex(key.reveal()); }

Answer unauthorized() {
  Answer answer =
      problem(Problem{401, "unauthorized", "send a valid key: Authorization: Bearer KEY", "", std::nullopt});
  answer.fields.push_back({"WWW-Authenticate", "Bearer realm=\"casemate\""});
  return answer;
}

}  // namespace casemate::http_server
