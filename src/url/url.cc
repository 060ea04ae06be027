#include "url/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/split.h"
#include "url/address.h"

namespace casemate::url {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

tl::unexpected<Error> wrong(const char* what) { return fail(ErrorCode::kInvalid, what); }

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

bool is_name(std::string_view host) {
  if (host.empty() || host.size() > 253 || host.back() == '.') return false;
  for (const std::string& label : split(host, '.')) {
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; }))
      return false;
  }
  return true;
}

// Whether resolvers may read a number where we would read a name: the last label is digits, or 0x and more.
bool ends_in_a_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') == host.npos ? 0 : host.rfind('.') + 1);
  return last.starts_with("0x") || std::all_of(last.begin(), last.end(), is_digit);
}

// The host as inet_ntop(3) spells it, which is RFC 5952 for IPv6.
std::optional<std::string> canonical(int family, const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(family, host.c_str(), bytes.data()) != 1) return std::nullopt;
  if (::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr) return std::nullopt;
  return std::string(text.data());
}

Result<void> read_host(std::string_view given, bool brackets, Url& url) {
  url.host = lower(given);
  if (brackets) {
    const auto spelled = canonical(AF_INET6, url.host);
    if (!spelled || *spelled != url.host)
      return wrong("its host is no IPv6 address as it is written shortest, such as [2001:db8::1]");
    if (holds_ipv4(url.host))
      return wrong("its host is an IPv4 address within an IPv6 one: name the IPv4 one");
    url.kind = Url::Host::kIpv6;
    return {};
  }
  if (!is_name(url.host))
    return wrong(
        "its host is no name of letters, digits, - and _ with dots between (a name in another script "
        "has a form that begins with xn--)");
  if (!ends_in_a_number(url.host)) return {};
  if (canonical(AF_INET, url.host) != url.host)
    return wrong("its host is a number and no address of four parts, such as 192.0.2.1");
  url.kind = Url::Host::kIpv4;
  return {};
}

// "", or ":" and a port.
Result<void> read_port(std::string_view rest, Url& url) {
  url.port = url.tls ? 443 : 80;
  if (rest.empty()) return {};
  rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), url.port);
  if (error != std::errc() || end != rest.data() + rest.size() || url.port == 0 || rest.front() == '0')
    return wrong("its port is no number from 1 to 65535");
  return {};
}

// Framing, the connection and the message itself are ours to say; what is for a proxy goes nowhere.
constexpr std::array<std::string_view, 14> kOurs = {
    "host",       "content-length",  "content-type", "transfer-encoding", "content-encoding",
    "connection", "expect",          "te",           "trailer",           "upgrade",
    "keep-alive", "accept-encoding", "accept",       "idempotency-key"};

}  // namespace

bool Url::is_loopback() const {
  if (kind == Host::kName) return host == "localhost";
  return kind == Host::kIpv4 ? host.starts_with("127.") : host == "::1";
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  url.text = text;
  if (text.size() > kUrlMax) return wrong("it is longer than 2048 bytes");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    return wrong("it has characters that a URL cannot have; %20 is a blank");
  if (text.find_first_of("\\\"<>^`{|}") != text.npos)
    return wrong("it has characters that a URL cannot have, such as \\ or \"");
  if (text.starts_with("https://")) url.tls = true;
  if (!url.tls && !text.starts_with("http://")) return wrong("it should begin with https:// or http://");
  std::string_view rest = text.substr(url.tls ? 8 : 7);
  if (rest.find('#') != rest.npos) return wrong("it has a fragment (#), which is never sent");
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != authority.npos)
    return wrong("it has a user or a password: use headers_from_env for what is secret");
  if (authority.starts_with("[")) {
    const std::size_t end = authority.find(']');
    if (end == authority.npos) return wrong("its IPv6 address has no ] at its end");
    const std::string_view after = authority.substr(end + 1);
    if (!after.empty() && after.front() != ':') return wrong("after its IPv6 address there should be : or /");
    TRY(read_host(authority.substr(1, end - 1), /*brackets=*/true, url));
    TRY(read_port(after, url));
    return url;
  }
  const std::size_t colon = std::min(authority.find(':'), authority.size());
  TRY(read_host(authority.substr(0, colon), /*brackets=*/false, url));
  TRY(read_port(authority.substr(colon), url));
  return url;
}

Result<void> check_header_name(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const auto of_token = [&](char c) { return is_letter(c) || is_digit(c) || kMarks.find(c) != kMarks.npos; };
  if (name.empty() || name.size() > kHeaderNameMax || !std::all_of(name.begin(), name.end(), of_token))
    return wrong("is no name of a header");
  const std::string small = lower(name);
  if (std::find(kOurs.begin(), kOurs.end(), small) != kOurs.end() || small.starts_with("proxy-"))
    return wrong("is a header that the connector itself says, or none that it may");
  return {};
}

Result<void> check_header_value(std::string_view value) {
  if (value.empty()) return wrong("is empty");
  if (value.size() > kHeaderValueMax) return wrong("is longer than 8192 bytes");
  if (value.front() == ' ' || value.back() == ' ') return wrong("begins or ends with a blank");
  if (!std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c < 0x7f; }))
    return wrong("has characters that a header cannot have, such as the end of a line");
  return {};
}

}  // namespace casemate::url
