#include "http_server/target.h"

#include <algorithm>

#include "http_server/head.h"
#include "http_server/limits.h"
#include "json/utf8.h"

namespace casemate::http_server {
namespace {

constexpr Refusal kNoProxy{501, "no_proxy", "this server is no proxy: it has no CONNECT"};
constexpr Refusal kForm{400, "target_form", "the target should be a path that begins with a slash"};
constexpr Refusal kOtherHost{400, "target_host", "the target names another host than the field Host"};
constexpr Refusal kCharacter{400, "target_character",
                             "the target holds a character that belongs in no target: percent-encode it"};
constexpr Refusal kEncoding{400, "percent_encoding", "a percent sign should be followed by two hex digits"};
constexpr Refusal kNotText{400, "target_text",
                           "the target decodes to a control character, or to what is not UTF-8"};
constexpr Refusal kSlash{400, "encoded_slash", "a segment of the path holds a slash or a backslash"};
constexpr Refusal kDots{400, "dot_segment", "a segment of the path is . or ..: name what is meant"};
constexpr Refusal kTooDeep{414, "path_too_deep", "the path has more than 32 segments"};
constexpr Refusal kTooManyItems{414, "query_too_long", "the query has more than 64 items"};

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// unreserved, sub-delims, ":" and "@" of RFC 3986.
bool is_plain(char c) {
  return is_token_char(c) ? c != '`' && c != '^' && c != '|' && c != '#' && c != '%'
                          : std::string_view("(),;=:@").find(c) != std::string_view::npos;
}

enum class Part { kPath, kQuery };

std::optional<Refusal> decode(std::string_view text, Part part, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return kEncoding;
      c = static_cast<char>(high * 16 + low);
      i += 2;
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return kNotText;
      if (part == Part::kPath && (c == '/' || c == '\\')) return kSlash;
    } else if (part == Part::kQuery && c == '+') {
      c = ' ';
    } else if (!is_plain(c) && !(part == Part::kQuery && (c == '/' || c == '?'))) {
      return kCharacter;
    }
    out += c;
  }
  if (!json::is_valid_utf8(out)) return kNotText;
  return std::nullopt;
}

std::optional<Refusal> read_path(std::string_view path, std::vector<std::string>& segments) {
  segments.clear();
  if (path.empty() || path.front() != '/') return kForm;
  for (std::size_t at = 1;;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (segments.size() == kPathSegmentsMax) return kTooDeep;
    if (auto refusal = decode(path.substr(at, end - at), Part::kPath, segments.emplace_back()))
      return refusal;
    if (segments.back() == "." || segments.back() == "..") return kDots;
    if (end == path.size()) return std::nullopt;
    at = end + 1;
  }
}

std::optional<Refusal> read_query(std::string_view query, std::vector<Field>& items) {
  items.clear();
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string_view item = query.substr(at, end - at);
    at = end + 1;
    if (item.empty()) continue;
    if (items.size() == kQueryItemsMax) return kTooManyItems;
    const std::size_t equals = std::min(item.find('='), item.size());
    Field& field = items.emplace_back();
    if (auto refusal = decode(item.substr(0, equals), Part::kQuery, field.name)) return refusal;
    const std::string_view value = item.substr(std::min(equals + 1, item.size()));
    if (auto refusal = decode(value, Part::kQuery, field.value)) return refusal;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> read_target(std::string_view host, Request& request) {
  constexpr std::string_view kScheme = "http://";
  if (request.method == "CONNECT") return kNoProxy;
  std::string_view rest = request.target;
  if (equals_ignoring_case(rest.substr(0, kScheme.size()), kScheme)) {
    rest.remove_prefix(kScheme.size());
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const std::string_view authority = rest.substr(0, end);
    if (!is_host(authority) || (!host.empty() && !equals_ignoring_case(authority, host))) return kOtherHost;
    rest.remove_prefix(end);
    // A form for proxies; what only they could mean by an empty path is not guessed.
    if (rest.empty() || rest.front() != '/') return kForm;
  }
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  if (auto refusal = read_path(rest.substr(0, mark), request.path)) return refusal;
  return read_query(rest.substr(std::min(mark + 1, rest.size())), request.query);
}

}  // namespace casemate::http_server
