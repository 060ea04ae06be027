// The address of an HTTP endpoint, and the headers for it, in the one spelling that no two readers take
// differently. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace casemate::url {

inline constexpr std::size_t kUrlMax = 2048;
inline constexpr std::size_t kHeaderNameMax = 128;
inline constexpr std::size_t kHeaderValueMax = 8192;

struct Url {
  enum class Host { kName, kIpv4, kIpv6 };
  bool tls = false;  // https
  std::string host;  // small letters; an IPv6 address without its brackets
  Host kind = Host::kName;
  std::uint16_t port = 0;
  std::string text;  // the whole, as it was given
  // The file names the very address that is spoken to, and no resolver chooses one.
  bool is_literal() const { return kind != Host::kName; }
  // What is said there stays on this computer: 127.0.0.0/8, ::1, or localhost (RFC 6761, section 6.3).
  bool is_loopback() const;
};

// A host is a name of letters, digits, - and _ in labels, a dotted quad, or an IPv6 address as RFC 5952
// spells it. Refused, since readers differ about them: users and passwords, fragments, other forms of
// numbers (0x7f.1, 2130706433, 127.1), zones, IPv4 within IPv6, dots at the end, escapes and backslashes.
// Errors: invalid; the message does not repeat the text, which may hold a password.
Result<Url> parse_url(std::string_view text);

// What a file may say as a header: a token (RFC 9110, section 5.6.2) that is not one of those that frame or
// name the request itself.
// Errors: invalid.
Result<void> check_header_name(std::string_view name);

// Visible ASCII, and blanks between; not empty. Errors: invalid; the message does not repeat the value.
Result<void> check_header_value(std::string_view value);

}  // namespace casemate::url
