// The head of a request, by its raw bytes: before any parser sees it.
//
// Two readers of one stream that disagree where a request ends are how requests are smuggled (RFC 9112,
// section 11.2). So a head has one form here: lines that end in CR LF, no controls, no bytes beyond ASCII,
// one way to frame the body. What other servers repair, or read in their own way, is refused. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http_server/refusal.h"

namespace casemate::http_server {

// Follows a head as it comes in. One for each request; takes time in what is new alone.
class HeadScanner {
 public:
  enum class State {
    kMore,
    kWhole,    // from begin() to end()
    kRefused,  // refusal() says why; nothing that follows can mend it
  };
  // `bytes`: all that came since the end of the request before, from its first byte on.
  State scan(std::string_view bytes);

  // One empty line before a request is passed over (RFC 9112, section 2.2).
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return at_; }
  const Refusal& refusal() const { return refusal_; }

 private:
  State refuse(const Refusal& refusal);
  // A line ended before the CR at `end`. True when it was the last of the head.
  bool end_line(std::string_view bytes, std::size_t end);

  std::size_t begin_ = 0;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t fields_ = 0;
  bool after_cr_ = false;
  bool first_line_ = true;
  bool blank_passed_ = false;
  bool refused_ = false;
  Refusal refusal_;
};

// What decides where the request ends, and what may come after it.
struct HeadFacts {
  int minor_version = 1;
  bool chunked = false;
  std::optional<std::uint64_t> content_length;  // never beside chunked
  bool expects_continue = false;
  std::string_view host;  // within the head; empty when HTTP/1.0 names none

  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

// `head`: what HeadScanner found whole. Nothing: it may be parsed, and `facts` are true of it.
std::optional<Refusal> check_head(std::string_view head, HeadFacts& facts);

// A version other than 1.0 and 1.1, HTTP/2's preface among them, is told apart from what is no request line.
std::optional<Refusal> check_request_line(std::string_view line, HeadFacts& facts);

// host [":" port], without a user, and small enough (RFC 9110, section 7.2).
bool is_host(std::string_view text);

// Of RFC 9110, section 5.6.2.
bool is_token_char(char c);
bool is_token(std::string_view text);
// ASCII without regard to small and capital letters.
bool equals_ignoring_case(std::string_view a, std::string_view b);

}  // namespace casemate::http_server
