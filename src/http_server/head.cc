#include "http_server/head.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

constexpr Refusal kBareCr{400, "bare_cr",
                          "a carriage return stands without its line feed: end lines in CR LF"};
constexpr Refusal kBareLf{400, "bare_lf", "a line ends in a line feed alone: end lines in CR LF"};
constexpr Refusal kControl{400, "control_character", "a control character stands in the head: take it out"};
constexpr Refusal kNotAscii{
    400, "not_ascii",
    "the head holds bytes that are not ASCII: percent-encode them, or send them in the body"};
constexpr Refusal kLineTooLong{414, "request_line_too_long", "the request line is longer than 8192 bytes"};
constexpr Refusal kHeadTooLarge{431, "head_too_large",
                                "the request line and the fields are larger than 32 KiB together"};
constexpr Refusal kTooManyFields{431, "too_many_fields", "there are more than 100 fields"};
constexpr Refusal kNoRequestLine{400, "request_line", "the first line should be METHOD TARGET HTTP/1.1"};
constexpr Refusal kMethodTooLong{501, "unknown_method", "no method has so long a name"};
constexpr Refusal kVersion{505, "http_version", "this server speaks HTTP/1.1 and HTTP/1.0"};
constexpr Refusal kFolded{400, "folded_field", "a field goes on in a second line: write it in one"};
constexpr Refusal kSpaceBeforeColon{400, "space_before_colon",
                                    "blanks stand between a field's name and its colon"};
constexpr Refusal kFieldName{400, "field_name", "a field's name is no token: it should be NAME: VALUE"};
constexpr Refusal kTwice{400, "field_twice", "a field comes twice that has one value: send it once"};
constexpr Refusal kContentLength{400, "content_length",
                                 "Content-Length should be one decimal number without a sign"};
constexpr Refusal kTransferEncoding{501, "transfer_encoding",
                                    "the only transfer coding here is chunked, by itself"};
constexpr Refusal kBoth{400, "length_and_chunks",
                        "Content-Length and Transfer-Encoding come together: send one of them"};
constexpr Refusal kChunksIn10{400, "chunks_in_http_1_0",
                              "HTTP/1.0 has no transfer codings: send Content-Length"};
constexpr Refusal kNoHost{400, "no_host", "HTTP/1.1 needs one Host field"};
constexpr Refusal kHost{400, "host", "Host should be a name or an address, with a port or without"};
constexpr Refusal kExpect{417, "expect", "the only expectation that is met here is 100-continue"};
constexpr Refusal kContentEncoding{415, "content_encoding",
                                   "the body has a content coding: send it as it is"};

// Fields with one value. That one of them comes twice is how two readers come to see two requests.
constexpr std::array<std::string_view, 8> kOnce = {"host",          "content-length", "transfer-encoding",
                                                   "authorization", "expect",         "content-encoding",
                                                   "content-type",  "last-event-id"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
  // 19 digits fit into 64 bits; a zero in front is octal to some.
  if (text.empty() || text.size() > 19 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "HTTP/" DIGIT "." DIGIT
bool is_version(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' &&
         is_digit(text[7]);
}

std::optional<Refusal> take_field(std::string_view name, std::string_view value, HeadFacts& facts,
                                  std::bitset<kOnce.size()>& seen) {
  const auto once = std::find_if(kOnce.begin(), kOnce.end(),
                                 [&](std::string_view known) { return equals_ignoring_case(known, name); });
  if (once == kOnce.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(once - kOnce.begin());
  if (seen[index]) return kTwice;
  seen[index] = true;
  if (*once == "host") {
    if (!is_host(value)) return kHost;
    facts.host = value;
  } else if (*once == "content-length") {
    facts.content_length = parse_length(value);
    if (!facts.content_length) return kContentLength;
  } else if (*once == "transfer-encoding") {
    if (!equals_ignoring_case(value, "chunked")) return kTransferEncoding;
    facts.chunked = true;
  } else if (*once == "expect") {
    if (!equals_ignoring_case(value, "100-continue")) return kExpect;
    facts.expects_continue = true;
  } else if (*once == "content-encoding") {
    if (!equals_ignoring_case(value, "identity")) return kContentEncoding;
  }
  return std::nullopt;
}

std::optional<Refusal> check_field(std::string_view line, HeadFacts& facts, std::bitset<kOnce.size()>& seen) {
  if (line.front() == ' ' || line.front() == '\t') return kFolded;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return kFieldName;
  const std::string_view name = line.substr(0, colon);
  if (!name.empty() && (name.back() == ' ' || name.back() == '\t')) return kSpaceBeforeColon;
  if (!is_token(name)) return kFieldName;
  return take_field(name, without_blanks(line.substr(colon + 1)), facts, seen);
}

}  // namespace

bool is_token_char(char c) {
  return is_digit(c) || (small(c) >= 'a' && small(c) <= 'z') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char left, char right) { return small(left) == small(right); });
}

bool is_host(std::string_view text) {
  if (text.empty() || text.size() > kHostMax) return false;
  std::string_view rest;  // behind the host
  if (text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    const auto in_address = [](char c) {
      return is_digit(c) || (small(c) >= 'a' && small(c) <= 'f') || c == ':' || c == '.';
    };
    if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end), in_address))
      return false;
    rest = text.substr(end + 1);
  } else {
    const auto in_name = [](char c) {
      return is_digit(c) || (small(c) >= 'a' && small(c) <= 'z') || c == '-' || c == '.' || c == '_';
    };
    const auto end = std::find_if_not(text.begin(), text.end(), in_name);
    if (end == text.begin()) return false;
    rest = text.substr(static_cast<std::size_t>(end - text.begin()));
  }
  if (rest.empty()) return true;
  return rest.front() == ':' && rest.size() > 1 && rest.size() <= 6 &&
         std::all_of(rest.begin() + 1, rest.end(), is_digit);
}

HeadScanner::State HeadScanner::refuse(const Refusal& refusal) {
  refused_ = true;
  refusal_ = refusal;
  return State::kRefused;
}

bool HeadScanner::end_line(std::string_view bytes, std::size_t end) {
  const std::string_view line = bytes.substr(line_begin_, end - line_begin_);
  line_begin_ = end + 2;
  if (!first_line_) {
    if (line.empty()) return true;
    if (++fields_ > kHeadFieldsMax) (void)refuse(kTooManyFields);
    return false;
  }
  if (line.empty() && !blank_passed_) {
    blank_passed_ = true;
    begin_ = line_begin_;
    return false;
  }
  first_line_ = false;
  // At once: a client of HTTP/2 waits for an answer behind its first line, and one of none may send no
  // second.
  HeadFacts facts;
  if (const auto refusal = check_request_line(line, facts)) (void)refuse(*refusal);
  return false;
}

HeadScanner::State HeadScanner::scan(std::string_view bytes) {
  if (refused_) return State::kRefused;
  while (at_ < bytes.size()) {
    const char c = bytes[at_];
    if (at_ - begin_ >= kHeadMax) return refuse(kHeadTooLarge);
    if (after_cr_) {
      if (c != '\n') return refuse(kBareCr);
      after_cr_ = false;
      const bool last = end_line(bytes, at_ - 1);
      if (refused_) return State::kRefused;
      ++at_;
      if (last) return State::kWhole;
      continue;
    }
    if (c == '\r') {
      after_cr_ = true;
    } else if (c == '\n') {
      return refuse(kBareLf);
    } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
      return refuse(kControl);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return refuse(kNotAscii);
    } else if (first_line_ && at_ - line_begin_ >= kRequestLineMax) {
      return refuse(kLineTooLong);
    }
    ++at_;
  }
  return State::kMore;
}

std::optional<Refusal> check_request_line(std::string_view line, HeadFacts& facts) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return kNoRequestLine;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (!is_token(method) || target.empty() || target.find('\t') != std::string_view::npos ||
      !is_version(version))
    return kNoRequestLine;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return kVersion;
  if (method.size() > kMethodMax) return kMethodTooLong;
  facts.minor_version = version.back() - '0';
  return std::nullopt;
}

std::optional<Refusal> check_head(std::string_view head, HeadFacts& facts) {
  facts = {};
  std::size_t end = head.find("\r\n");
  if (end == std::string_view::npos) return kNoRequestLine;
  if (auto refusal = check_request_line(head.substr(0, end), facts)) return refusal;
  std::bitset<kOnce.size()> seen;
  for (std::size_t at = end + 2;; at = end + 2) {
    end = head.find("\r\n", at);
    if (end == std::string_view::npos) return kNoRequestLine;
    if (end == at) break;
    if (auto refusal = check_field(head.substr(at, end - at), facts, seen)) return refusal;
  }
  if (facts.chunked && facts.content_length) return kBoth;
  if (facts.chunked && facts.minor_version == 0) return kChunksIn10;
  if (facts.host.empty() && facts.minor_version == 1) return kNoHost;
  if (facts.minor_version == 0) facts.expects_continue = false;  // RFC 9110, section 10.1.1
  return std::nullopt;
}

}  // namespace casemate::http_server
