// The members of a record that its kind adds, bounded as they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/hmac.h"
#include "json/writer.h"

namespace casemate::audit {

// One thread. The first member that is not as it should be is what take() fails with. Names must be those of
// code, and not one of those that every record has ("seq", "prev", "at", "kind", "digest").
class Fields {
 public:
  // `key`: what keyed() hashes with; nullptr: nothing may be keyed. It must outlive the fields.
  explicit Fields(const crypto::HmacKey* key);

  // An id or a name: 1 to kAuditIdMax bytes of UTF-8.
  Fields& id(std::string_view name, std::string_view value);
  // Likewise, and absent when it is empty.
  Fields& optional_id(std::string_view name, std::string_view value);
  // For people: made one line of at most kAuditTextMax bytes. Absent when it is empty.
  Fields& text(std::string_view name, std::string_view value);
  // SHA-256 as 64 lower-case hex digits.
  Fields& digest(std::string_view name, std::string_view hex);
  Fields& optional_digest(std::string_view name, std::string_view hex);
  Fields& number(std::string_view name, std::uint64_t value);
  // Ids, at most kAuditListMax. Always there: an empty list says that there are none.
  Fields& list(std::string_view name, const std::vector<std::string>& values);
  // The value itself is not written, only its HMAC with the log's key. Absent when it is empty.
  Fields& keyed(std::string_view name, std::string_view value);

  // The members, without braces. Errors: invalid, naming the member.
  Result<std::string> take() &&;

 private:
  bool fits(std::string_view name, std::string_view value);
  void refuse(std::string_view name, const char* why);
  json::Writer& key(std::string_view name);

  const crypto::HmacKey* key_;
  json::Writer out_;
  std::optional<Error> error_;
};

}  // namespace casemate::audit
