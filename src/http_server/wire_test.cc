#include "http_server/wire.h"

#include <gtest/gtest.h>

#include <string>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

struct Parsed {
  Request request;
  std::string refusal;  // its code
  bool done = false;
  std::string left;
};

// `step`: the bytes of the body that come at once.
Parsed parse(const std::string& head, const std::string& body, std::size_t step,
             std::uint64_t most = 1 << 20) {
  Parsed parsed;
  HeadFacts facts;
  RequestParser parser;
  auto refusal = check_head(head, facts);
  if (!refusal) refusal = parser.take_head(head, facts, parsed.request);
  if (!refusal) refusal = parser.limit_body(most);
  for (std::size_t at = 0; !refusal && !parser.done() && at < body.size(); at += step) {
    parsed.left += body.substr(at, step);
    std::size_t taken = 0;
    refusal = parser.take_body(parsed.left, parsed.request.body, taken);
    parsed.left.erase(0, taken);
    if (!refusal && !parser.done()) {
      EXPECT_LE(parsed.left.size(), kChunkLineMax + 8);
    }
  }
  if (refusal) parsed.refusal = refusal->code;
  parsed.done = parser.done();
  return parsed;
}

const std::string kChunkedHead = "POST /a?b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(RequestParser, TakesTheHeadApart) {
  const Parsed parsed = parse("PUT /a?b=c HTTP/1.1\r\nHost: h\r\nX-Y:  v w\t\r\nx-y:\r\n\r\n", "", 1);
  EXPECT_EQ(parsed.refusal, "");
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.request.method, "PUT");
  EXPECT_EQ(parsed.request.target, "/a?b=c");
  EXPECT_EQ(parsed.request.minor_version, 1);
  const std::vector<Field> fields = {{"host", "h"}, {"x-y", "v w"}, {"x-y", ""}};
  EXPECT_EQ(parsed.request.fields, fields);
}

TEST(RequestParser, UnknownMethodsKeepTheirNames) {
  EXPECT_EQ(parse("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "", 1).request.method, "BREW");
}

TEST(RequestParser, BodyOfALengthInPieces) {
  const std::string body(1000, 'x');
  for (const std::size_t step : {1U, 7U, 999U, 1000U}) {
    const Parsed parsed = parse("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n", body, step);
    EXPECT_EQ(parsed.refusal, "");
    EXPECT_TRUE(parsed.done);
    EXPECT_EQ(parsed.request.body, body);
  }
}

TEST(RequestParser, ChunksInPiecesWithExtensions) {
  const std::string body = "5\r\nhello\r\n00A;a;b=c;d=\"e \\\" f\"\r\n, chunked \r\n0;last\r\n\r\n";
  for (std::size_t step = 1; step <= body.size(); ++step) {
    const Parsed parsed = parse(kChunkedHead, body, step);
    EXPECT_EQ(parsed.refusal, "") << step;
    EXPECT_TRUE(parsed.done);
    EXPECT_EQ(parsed.request.body, "hello, chunked ");
    EXPECT_EQ(parsed.left, "");
  }
}

TEST(RequestParser, LeavesTheNextRequestAlone) {
  EXPECT_EQ(parse(kChunkedHead, "1\r\nx\r\n0\r\n\r\nGET / HTTP", 100).left, "GET / HTTP");
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n", "xGET /", 100).left, "GET /");
}

TEST(RequestParser, BodyAtAndPastItsLimit) {
  EXPECT_EQ(parse(kChunkedHead, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 100, 5).refusal, "");
  EXPECT_EQ(parse(kChunkedHead, "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", 100, 5).refusal, "body_too_large");
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  EXPECT_EQ(parse(head + "5\r\n\r\n", "abcde", 100, 5).refusal, "");
  EXPECT_EQ(parse(head + "6\r\n\r\n", "", 100, 5).refusal, "body_too_large");
}

TEST(RequestParser, ChunkLineAtAndPastItsLimit) {
  const std::string line = "1;" + std::string(kChunkLineMax - 2, 'a');
  EXPECT_EQ(parse(kChunkedHead, line + "\r\nx\r\n0\r\n\r\n", 1000).refusal, "");
  EXPECT_EQ(parse(kChunkedHead, line + "a\r\nx\r\n0\r\n\r\n", 1000).refusal, "chunk_line_too_long");
}

TEST(RequestParser, ChunksMayNotTakeFarMoreThanTheyCarry) {
  std::string body;
  for (std::size_t i = 0; i < 2 * kChunkOverheadMax / 8; ++i) body += "1\r\nx\r\n";  // 5 more than it carries
  EXPECT_EQ(parse(kChunkedHead, body + "0\r\n\r\n", 4096).refusal, "chunk_overhead");
  std::string few;
  for (int i = 0; i < 100; ++i) few += "1\r\nx\r\n";
  EXPECT_EQ(parse(kChunkedHead, few + "0\r\n\r\n", 4096).refusal, "");
}

// Beast takes these; check_head() does not let them come to it.
TEST(RequestParser, AnotherOpinionAboutTheFramingIsARefusal) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\n";
  HeadFacts facts;
  Request request;
  EXPECT_TRUE(check_head(head, facts));
  facts.content_length.reset();
  const auto refusal = RequestParser().take_head(head, facts, request);
  ASSERT_TRUE(refusal);
  EXPECT_STREQ(refusal->code, "framing");
}

TEST(AnswerHead, IsAStatusLineAndFields) {
  EXPECT_EQ(answer_head(429, {{"Retry-After", "2"}, {"X", ""}}),
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nX: \r\n\r\n");
}

}  // namespace
}  // namespace casemate::http_server
