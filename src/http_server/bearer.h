// Keys that name tenants (RFC 6750), as pure functions.
//
// A key is 256 random bits that new_key() makes, and what is kept of it is its SHA-256. A slow hash, which
// passwords need, would add nothing: there is no dictionary of random bits to try, and each request would pay
// for it. That holds for random keys alone, so nothing else is taken: what has not the form of a key is
// nobody's, whatever the table says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "http_server/answer.h"
#include "http_server/request.h"

namespace casemate::http_server {

struct KeyEntry {
  std::string tenant;      // letters, digits, ".", "_" and "-"; at most kTenantMax
  std::string key_sha256;  // 64 small hex digits
};

// Immutable, hence safe from any thread.
class KeyTable {
 public:
  // A tenant may have several keys. No entries: nobody is let in. Errors: invalid (a tenant's name, a hash,
  // one key twice), exhausted (more than kKeysMax).
  static Result<KeyTable> make(std::vector<KeyEntry> entries);

  // Whose key it is, or nothing. Compares with every entry, each time, in a time that depends on nothing but
  // their number and the length of `key`; what is no key at all takes the same way.
  std::optional<std::string> tenant_of(std::string_view key) const;
  // The same of the request's field Authorization: "Bearer" in any letters, one blank, the key.
  std::optional<std::string> tenant_of(const Request& request) const;

 private:
  explicit KeyTable(std::vector<KeyEntry> entries) : entries_(std::move(entries)) {}
  std::vector<KeyEntry> entries_;
};

// "casemate_" and 64 hex digits.
Secret new_key();
// What goes into the table.
std::string key_sha256(const Secret& key);

// 401: one answer for no key, a malformed one, an unknown one and one that was taken back, so that it tells
// nobody which of these it was.
Answer unauthorized();

}  // namespace casemate::http_server
