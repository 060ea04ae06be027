#include "audit/fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "crypto/digest.h"
#include "json/utf8.h"

namespace casemate::audit {
namespace {

constexpr std::array<std::string_view, 5> kOfEveryRecord{"seq", "prev", "at", "kind", "digest"};
constexpr std::size_t kSha256Digits = 64;

}  // namespace

Fields::Fields(const crypto::HmacKey* key) : key_(key) { out_.begin_object(); }

void Fields::refuse(std::string_view name, const char* why) {
  if (!error_) error_ = Error{ErrorCode::kInvalid, "an audit record's " + std::string(name) + why, 0};
}

json::Writer& Fields::key(std::string_view name) {
  CHECK(std::find(kOfEveryRecord.begin(), kOfEveryRecord.end(), name) == kOfEveryRecord.end());
  return out_.key(name);
}

// Bytes that are not UTF-8 would be written as U+FFFD: two ids could become one.
bool Fields::fits(std::string_view name, std::string_view value) {
  if (value.empty()) {
    refuse(name, " is empty");
  } else if (value.size() > kAuditIdMax) {
    refuse(name, " is too long");
  } else if (!json::is_valid_utf8(value)) {
    refuse(name, " is not UTF-8");
  } else {
    return true;
  }
  return false;
}

Fields& Fields::id(std::string_view name, std::string_view value) {
  if (fits(name, value)) key(name).value(value);
  return *this;
}

Fields& Fields::optional_id(std::string_view name, std::string_view value) {
  return value.empty() ? *this : id(name, value);
}

Fields& Fields::text(std::string_view name, std::string_view value) {
  if (!value.empty()) key(name).value(json::one_line(value, kAuditTextMax));
  return *this;
}

Fields& Fields::digest(std::string_view name, std::string_view hex) {
  if (crypto::is_lower_hex(hex, kSha256Digits)) {
    key(name).value(hex);
  } else {
    refuse(name, " is no SHA-256 in hex");
  }
  return *this;
}

Fields& Fields::optional_digest(std::string_view name, std::string_view hex) {
  return hex.empty() ? *this : digest(name, hex);
}

Fields& Fields::number(std::string_view name, std::uint64_t value) {
  key(name).value(value);
  return *this;
}

Fields& Fields::list(std::string_view name, const std::vector<std::string>& values) {
  if (values.size() > kAuditListMax) {
    refuse(name, " has too many entries");
    return *this;
  }
  if (!std::all_of(values.begin(), values.end(), [&](const std::string& value) { return fits(name, value); }))
    return *this;
  key(name).begin_array();
  for (const std::string& value : values) out_.value(value);
  out_.end_array();
  return *this;
}

Fields& Fields::keyed(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  CHECK(key_ != nullptr);
  key(name).value(key_->hex_of(value));
  return *this;
}

Result<std::string> Fields::take() && {
  if (error_) return tl::unexpected(*error_);
  out_.end_object();
  std::string object = std::move(out_).take();
  object.pop_back();
  object.erase(0, 1);
  return object;
}

}  // namespace casemate::audit
