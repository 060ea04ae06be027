// Requests of HTTP/1 in any bytes: one byte for the size of the pieces that they come in, then the stream.
//
// What is accepted is the same in whatever pieces it comes, is the same when it is written out and read
// again, and has one end: a lenient reader, who takes line feeds for line ends and blanks before colons, sees
// the same framing.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "http_server/answer.h"
#include "http_server/limits.h"
#include "http_server/target.h"
#include "http_server/wire.h"
#include "json/utf8.h"

namespace casemate::http_server {
namespace {

constexpr std::uint64_t kBodyMax = 1 << 16;

struct Taken {
  std::string refusal;  // its code
  Request request;
  bool whole = false;
  std::size_t head_bytes = 0;  // with an empty line before it
  std::size_t bytes = 0;
};

Taken refused(const Refusal& refusal) {
  FUZZ_CHECK(refusal.status >= 400 && refusal.status <= 505 && *refusal.code != '\0' &&
             *refusal.detail != '\0');
  FUZZ_CHECK(check_answer(problem(refusal)));
  Taken taken;
  taken.refusal = refusal.code;
  return taken;
}

Taken take_body(std::string_view rest, std::size_t step, RequestParser& parser, Taken taken) {
  if (const auto refusal = parser.limit_body(kBodyMax)) return refused(*refusal);
  std::string left;
  while (!parser.done()) {
    const std::string_view piece = rest.substr(0, step);
    rest.remove_prefix(piece.size());
    left += piece;
    std::size_t bytes = 0;
    if (const auto refusal = parser.take_body(left, taken.request.body, bytes)) return refused(*refusal);
    left.erase(0, bytes);
    taken.bytes += bytes;
    FUZZ_CHECK(taken.request.body.size() <= kBodyMax);
    FUZZ_CHECK(parser.done() || left.size() <= kChunkLineMax + 8);
    if (piece.empty()) return taken;
  }
  taken.whole = true;
  return taken;
}

// The first request of the bytes.
Taken take(std::string_view bytes, std::size_t step) {
  HeadScanner scanner;
  HeadScanner::State state = HeadScanner::State::kMore;
  for (std::size_t come = 0; state == HeadScanner::State::kMore && come < bytes.size();) {
    come = std::min(come + step, bytes.size());
    state = scanner.scan(bytes.substr(0, come));
  }
  if (state == HeadScanner::State::kRefused) return refused(scanner.refusal());
  if (state == HeadScanner::State::kMore) return {};
  const std::string_view head = bytes.substr(scanner.begin(), scanner.end() - scanner.begin());
  FUZZ_CHECK(head.size() <= kHeadMax);
  Taken taken;
  HeadFacts facts;
  if (const auto refusal = check_head(head, facts)) return refused(*refusal);
  RequestParser parser;
  if (const auto refusal = parser.take_head(head, facts, taken.request)) {
    // Beast refuses a malformed list of Connection, for one; about the framing it never thinks otherwise.
    FUZZ_CHECK(refusal->code != std::string_view("framing"));
    return refused(*refusal);
  }
  if (const auto of_target = read_target(facts.host, taken.request)) return refused(*of_target);
  taken.head_bytes = taken.bytes = scanner.end();
  return take_body(bytes.substr(scanner.end()), step, parser, std::move(taken));
}

std::string small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

// By the lenient reader's lights.
void check_one_framing(std::string_view head, const Taken& taken) {
  std::vector<std::string> lengths, codings;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    std::string line = small(head.substr(at, end - at));
    at = end + 1;
    line.erase(
        std::remove_if(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t' || c == '\r'; }),
        line.end());
    if (line.starts_with("content-length:")) lengths.push_back(line.substr(15));
    if (line.starts_with("transfer-encoding:")) codings.push_back(line.substr(18));
  }
  FUZZ_CHECK(lengths.size() + codings.size() <= 1);
  if (!codings.empty()) FUZZ_CHECK(codings[0] == "chunked");
  if (!lengths.empty())
    FUZZ_CHECK(std::strtoull(lengths[0].c_str(), nullptr, 10) == taken.request.body.size());
  if (codings.empty()) FUZZ_CHECK(taken.bytes == taken.head_bytes + taken.request.body.size());
}

void check_text(const std::string& text) {
  FUZZ_CHECK(json::is_valid_utf8(text));
  FUZZ_CHECK(
      std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

void check_request(const Request& request) {
  FUZZ_CHECK(is_token(request.method) && !request.path.empty());
  FUZZ_CHECK(request.path.size() <= kPathSegmentsMax && request.query.size() <= kQueryItemsMax);
  FUZZ_CHECK(request.fields.size() <= kHeadFieldsMax);
  for (const std::string& segment : request.path) {
    check_text(segment);
    FUZZ_CHECK(segment != "." && segment != ".." && segment.find_first_of("/\\") == std::string::npos);
  }
  for (const Field& item : request.query) {
    check_text(item.name);
    check_text(item.value);
  }
}

std::string write_out(const Request& request) {
  std::string text =
      request.method + " " + request.target + " HTTP/1." + std::to_string(request.minor_version) + "\r\n";
  for (const Field& field : request.fields) text += field.name + ": " + field.value + "\r\n";
  text += "\r\n";
  if (request.field("transfer-encoding") == nullptr) return text + request.body;
  char size[32];
  (void)std::snprintf(size, sizeof(size), "%zx\r\n", request.body.size());
  if (!request.body.empty()) text += size + request.body + "\r\n";
  return text + "0\r\n\r\n";
}

bool same(const Request& a, const Request& b) {
  return a.method == b.method && a.target == b.target && a.path == b.path && a.query == b.query &&
         a.fields == b.fields && a.minor_version == b.minor_version && a.body == b.body;
}

// False at the end of what is accepted.
bool check_one(std::string_view& bytes, std::size_t step) {
  const Taken taken = take(bytes, std::max<std::size_t>(bytes.size(), 1));
  const Taken in_pieces = take(bytes, step);
  FUZZ_CHECK(taken.refusal == in_pieces.refusal && taken.whole == in_pieces.whole);
  if (!taken.whole) return false;
  FUZZ_CHECK(taken.bytes == in_pieces.bytes && same(taken.request, in_pieces.request));
  check_one_framing(bytes.substr(0, taken.head_bytes), taken);
  check_request(taken.request);
  const std::string text = write_out(taken.request);
  const Taken again = take(text, step);
  // Blanks that the original had not may bring a head over its bound, and nothing else may.
  if (!again.refusal.empty())
    FUZZ_CHECK(again.refusal == "head_too_large" && taken.head_bytes > kHeadMax / 2);
  if (again.refusal.empty())
    FUZZ_CHECK(again.whole && again.bytes == text.size() && same(again.request, taken.request));
  bytes.remove_prefix(taken.bytes);
  return !bytes.empty();
}

}  // namespace
}  // namespace casemate::http_server

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes = casemate::fuzz::view(data, size);
  if (bytes.empty()) return 0;
  const std::size_t step = static_cast<unsigned char>(bytes[0]) % 64U + 1U;
  bytes.remove_prefix(1);
  while (casemate::http_server::check_one(bytes, step)) {
  }
  return 0;
}
