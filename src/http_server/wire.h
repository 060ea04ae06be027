// HTTP/1 on the wire: Boost.Beast's parser and serializer, behind the checks of head.h. wire.cc is the one
// file that sees Beast.
//
// Beast reads what is left to read: the line, the fields, the framing of a body. Where it takes more than
// RFC 9112 asks a server to take, the bytes are looked at first; where it comes to another opinion about the
// framing than head.h did, the request is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http_server/head.h"
#include "http_server/refusal.h"
#include "http_server/request.h"

namespace casemate::http_server {

// One request: its head, then the bytes of its body in whatever pieces they come. One thread.
class RequestParser {
 public:
  RequestParser();
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // `head`: one that check_head() took, with what it said. Fills the method, target, version and fields.
  std::optional<Refusal> take_head(std::string_view head, const HeadFacts& facts, Request& request);
  // What the client says of the connection after this request.
  bool keep_alive() const;

  // Of the body, decoded. Before the first bytes of it; the length that the head gives is held against it
  // too.
  std::optional<Refusal> limit_body(std::uint64_t most);
  // Takes bytes from the front of `bytes`, as many as it can make something of, and appends what they carry
  // to `body`. A chunk's line is taken when it is there whole; more than kChunkLineMax bytes are never left.
  std::optional<Refusal> take_body(std::string_view bytes, std::string& body, std::size_t& taken);
  // The request is whole; what follows is another one.
  bool done() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A status line, the fields, and the empty line. The fields must be fit to be sent (answer.h checks them).
std::string answer_head(int status, const std::vector<Field>& fields);

// "Not Found". Of a status that has no name: "<unknown-status>".
std::string_view reason_phrase(int status);

}  // namespace casemate::http_server
