#include "http_server/wire.h"

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/serializer.hpp>
#include <limits>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

namespace beast = boost::beast;
using beast::error_code;

constexpr Refusal kMalformed{400, "malformed", "this is no request of HTTP/1.1"};
constexpr Refusal kFraming{400, "framing", "it is not certain where this request ends"};
constexpr Refusal kChunk{400, "chunk",
                         "a chunk should be its size in hex, a line end, its bytes, a line end"};
constexpr Refusal kChunkLine{400, "chunk_line_too_long",
                             "a chunk's size and extensions are longer than 256 bytes"};
constexpr Refusal kChunkOverhead{400, "chunk_overhead",
                                 "the chunks take far more than what they carry: send larger ones"};
constexpr Refusal kTrailers{400, "trailers", "fields follow the last chunk: send them before the body"};
constexpr Refusal kBodyTooLarge{413, "body_too_large", "the body is larger than is taken here"};

constexpr std::size_t kHexDigitsMax = 16;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// A size, and perhaps extensions; Beast has an opinion about the form of these, which are dropped.
bool is_chunk_line(std::string_view line) {
  std::size_t digits = 0;
  while (digits < line.size() && is_hex(line[digits])) ++digits;
  if (digits == 0 || digits > kHexDigitsMax) return false;
  if (digits < line.size() && line[digits] != ';') return false;
  return std::all_of(line.begin() + static_cast<std::ptrdiff_t>(digits), line.end(),
                     [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

bool is_last_chunk(std::string_view line) {
  const std::size_t other = line.find_first_not_of('0');
  return other == std::string_view::npos || line[other] == ';';
}

}  // namespace

// Beast calls back with what it finds.
class RequestParser::Impl : public beast::http::basic_parser<true> {
 public:
  Request* request = nullptr;   // while the head is read
  std::string* body = nullptr;  // while the body is read
  std::uint64_t chunk_left = 0;
  bool any_chunk = false;
  std::uint64_t body_bytes = 0, framing_bytes = 0;

  std::optional<Refusal> put_all(std::string_view bytes, std::size_t& taken) {
    error_code error;
    taken = put({bytes.data(), bytes.size()}, error);
    if (!error) return std::nullopt;
    return error == beast::http::error::body_limit ? kBodyTooLarge : kMalformed;
  }

  // The line before a chunk, with the line end of the chunk before it. Zero when more is needed.
  std::optional<Refusal> measure_chunk_line(std::string_view bytes, std::size_t& size) const;
  std::optional<Refusal> take_chunked(std::string_view bytes, std::size_t& taken);

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    request->method.assign(method.data(), method.size());
    request->target.assign(target.data(), target.size());
    request->minor_version = version - 10;
  }
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     error_code& error) override {
    if (request == nullptr) {  // a trailer
      error = beast::http::error::bad_field;
      return;
    }
    Field& field = request->fields.emplace_back();
    field.name.assign(name.data(), name.size());
    std::transform(field.name.begin(), field.name.end(), field.name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    field.value.assign(value.data(), value.size());
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view piece, error_code&) override {
    body->append(piece.data(), piece.size());
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t size, beast::string_view, error_code&) override {
    chunk_left = size;
    any_chunk = true;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view piece, error_code&) override {
    body->append(piece.data(), piece.size());
    chunk_left -= piece.size();
    body_bytes += piece.size();
    return piece.size();
  }
  void on_finish_impl(error_code&) override {}
};

std::optional<Refusal> RequestParser::Impl::measure_chunk_line(std::string_view bytes,
                                                               std::size_t& size) const {
  size = 0;
  const std::size_t begin = any_chunk ? 2 : 0;
  const std::string_view before("\r\n", begin);
  if (bytes.substr(0, begin) != before.substr(0, std::min(begin, bytes.size()))) return kChunk;
  if (bytes.size() <= begin) return std::nullopt;
  const std::size_t end = bytes.find_first_of("\r\n", begin);
  if (std::min(end, bytes.size()) - begin > kChunkLineMax) return kChunkLine;
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = bytes.substr(begin, end - begin);
  if (bytes[end] != '\r' || !is_chunk_line(line)) return kChunk;
  // Behind the last chunk comes the empty line, since trailers are refused.
  const std::string_view ending = is_last_chunk(line) ? "\r\n\r\n" : "\r\n";
  const std::string_view found = bytes.substr(end, ending.size());
  if (found != ending.substr(0, found.size())) return found.starts_with("\r\n") ? kTrailers : kChunk;
  if (found.size() == ending.size()) size = end + ending.size();
  return std::nullopt;
}

std::optional<Refusal> RequestParser::Impl::take_chunked(std::string_view bytes, std::size_t& taken) {
  taken = 0;
  while (!is_done() && taken < bytes.size()) {
    std::string_view rest = bytes.substr(taken);
    if (chunk_left == 0) {
      std::size_t size = 0;
      if (auto refusal = measure_chunk_line(rest, size)) return refusal;
      if (size == 0) return std::nullopt;
      framing_bytes += size;
      if (framing_bytes > body_bytes + kChunkOverheadMax) return kChunkOverhead;
      rest = rest.substr(0, size);
    }
    std::size_t put_bytes = 0;
    if (auto refusal = put_all(rest, put_bytes)) return refusal;
    if (put_bytes == 0) return kMalformed;
    taken += put_bytes;
  }
  return std::nullopt;
}

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {
  impl_->header_limit(static_cast<std::uint32_t>(kHeadMax) + 1);
  // Not boost::none, than which Beast finds every length larger.
  impl_->body_limit(std::numeric_limits<std::uint64_t>::max());
}
RequestParser::~RequestParser() = default;

std::optional<Refusal> RequestParser::take_head(std::string_view head, const HeadFacts& facts,
                                                Request& request) {
  request.fields.clear();
  impl_->request = &request;
  std::size_t taken = 0;
  auto refusal = impl_->put_all(head, taken);
  impl_->request = nullptr;
  if (refusal) return refusal;
  if (taken != head.size() || !impl_->is_header_done()) return kMalformed;
  const boost::optional<std::uint64_t> length = impl_->content_length();
  const bool same_length = length.has_value() == facts.content_length.has_value() &&
                           length.value_or(0) == facts.content_length.value_or(0);
  if (!same_length || impl_->chunked() != facts.chunked || impl_->is_done() == facts.has_body() ||
      request.minor_version != facts.minor_version) {
    return kFraming;
  }
  return std::nullopt;
}

bool RequestParser::keep_alive() const { return impl_->keep_alive(); }

std::optional<Refusal> RequestParser::limit_body(std::uint64_t most) {
  const boost::optional<std::uint64_t> length = impl_->content_length();
  if (length.value_or(0) > most) return kBodyTooLarge;
  impl_->body_limit(most);
  return std::nullopt;
}

std::optional<Refusal> RequestParser::take_body(std::string_view bytes, std::string& body,
                                                std::size_t& taken) {
  taken = 0;
  if (impl_->is_done() || bytes.empty()) return std::nullopt;
  impl_->body = &body;
  auto refusal = impl_->chunked() ? impl_->take_chunked(bytes, taken) : impl_->put_all(bytes, taken);
  impl_->body = nullptr;
  return refusal;
}

bool RequestParser::done() const { return impl_->is_done(); }

std::string answer_head(int status, const std::vector<Field>& fields) {
  beast::http::response<beast::http::empty_body> message;
  message.version(11);
  message.result(static_cast<unsigned>(status));
  for (const Field& field : fields)
    message.insert(beast::string_view(field.name.data(), field.name.size()),
                   beast::string_view(field.value.data(), field.value.size()));
  beast::http::response_serializer<beast::http::empty_body> serializer(message);
  serializer.split(true);
  std::string text;
  error_code error;
  serializer.next(error, [&text](error_code&, const auto& buffers) {
    for (const auto buffer : beast::buffers_range_ref(buffers))
      text.append(static_cast<const char*>(buffer.data()), buffer.size());
  });
  return text;
}

std::string_view reason_phrase(int status) {
  const beast::string_view phrase =
      beast::http::obsolete_reason(beast::http::int_to_status(static_cast<unsigned>(status)));
  return {phrase.data(), phrase.size()};
}

}  // namespace casemate::http_server
