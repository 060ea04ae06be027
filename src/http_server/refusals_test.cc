// What a server refuses, over real sockets: the bytes in, the answer out, the connection ended, and the next
// client served as if nothing had been.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http_server/limits.h"
#include "http_server/test_service.h"

namespace casemate::http_server {
namespace {

struct Case {
  std::string name;
  std::string bytes;
  int status;
  std::string code;
};

// "\r\n\r\n" is added. `line`: the whole request line.
std::string head(const std::string& line, const std::string& fields = "") {
  return line + "\r\nHost: localhost\r\n" + fields + "\r\n";
}
std::string chunked(const std::string& body, const std::string& fields = "") {
  return head("POST /echo HTTP/1.1", fields + "Transfer-Encoding: chunked\r\n") + body;
}

std::vector<Case> framing_cases() {
  const std::string post = "POST /echo HTTP/1.1";
  return {
      {"both", head(post, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400,
       "length_and_chunks"},
      {"both_reversed", head(post, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n", 400,
       "length_and_chunks"},
      {"two_lengths", head(post, "Content-Length: 5\r\nContent-Length: 5\r\n") + "hello", 400, "field_twice"},
      {"two_lengths_that_differ", head(post, "Content-Length: 5\r\ncontent-length: 6\r\n") + "hello", 400,
       "field_twice"},
      {"length_list", head(post, "Content-Length: 5, 5\r\n") + "hello", 400, "content_length"},
      {"length_plus", head(post, "Content-Length: +5\r\n") + "hello", 400, "content_length"},
      {"length_minus", head(post, "Content-Length: -5\r\n") + "hello", 400, "content_length"},
      {"length_inner_space", head(post, "Content-Length: 5 5\r\n") + "hello", 400, "content_length"},
      {"length_hex", head(post, "Content-Length: 0x5\r\n") + "hello", 400, "content_length"},
      {"length_octal", head(post, "Content-Length: 05\r\n") + "hello", 400, "content_length"},
      {"length_empty", head(post, "Content-Length: \r\n") + "hello", 400, "content_length"},
      {"length_overflow", head(post, "Content-Length: 18446744073709551621\r\n") + "hello", 400,
       "content_length"},
      {"length_fraction", head(post, "Content-Length: 5.0\r\n") + "hello", 400, "content_length"},
      {"gzip_chunked", head(post, "Transfer-Encoding: gzip, chunked\r\n"), 501, "transfer_encoding"},
      {"chunked_twice_in_one", head(post, "Transfer-Encoding: chunked, chunked\r\n"), 501,
       "transfer_encoding"},
      {"chunked_two_fields", head(post, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400,
       "field_twice"},
      {"chunked_quoted", head(post, "Transfer-Encoding: \"chunked\"\r\n"), 501, "transfer_encoding"},
      {"chunked_with_parameter", head(post, "Transfer-Encoding: chunked;q=1\r\n"), 501, "transfer_encoding"},
      {"xchunked", head(post, "Transfer-Encoding: xchunked\r\n"), 501, "transfer_encoding"},
      {"identity", head(post, "Transfer-Encoding: identity\r\n"), 501, "transfer_encoding"},
      {"chunked_in_1_0", head("POST /echo HTTP/1.0", "Transfer-Encoding: chunked\r\n"), 400,
       "chunks_in_http_1_0"},
      {"coded_body", head(post, "Content-Encoding: gzip\r\nContent-Length: 5\r\n") + "hello", 415,
       "content_encoding"},
      {"too_large", head(post, "Content-Length: 1001\r\n"), 413, "body_too_large"},
      {"no_body_here", head("GET /healthz HTTP/1.1", "Content-Length: 1\r\n") + "x", 413, "body_too_large"},
      {"expectation", head(post, "Expect: 200-ok\r\nContent-Length: 5\r\n"), 417, "expect"},
  };
}

std::vector<Case> chunk_cases() {
  return {
      {"no_size", chunked("\r\nhello\r\n"), 400, "chunk"},
      {"sign", chunked("+5\r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"prefix", chunked("0x5\r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"space_before", chunked(" 5\r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"space_behind", chunked("5 \r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"overflow", chunked("10000000000000005\r\nhello"), 400, "chunk"},
      {"bare_lf", chunked("5\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"bare_cr", chunked("5\rhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"lf_in_extension", chunked("5;a\nb\r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"lf_in_quotes", chunked("5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"crlf_in_quotes", chunked("5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n"), 400, "malformed"},
      {"nul_in_extension", chunked(std::string("5;a\0\r\nhello\r\n0\r\n\r\n", 18)), 400, "chunk"},
      {"too_short", chunked("4\r\nhello\r\n0\r\n\r\n"), 400, "chunk"},
      {"no_end_of_chunk", chunked("5\r\nhello0\r\n\r\n"), 400, "chunk"},
      {"lf_behind_chunk", chunked("5\r\nhello\n0\r\n\r\n"), 400, "chunk"},
      {"extension_too_long", chunked("5;a=" + std::string(kChunkLineMax, 'x') + "\r\nhello"), 400,
       "chunk_line_too_long"},
      {"extension_without_end", chunked("5;a=" + std::string(100'000, 'x')), 400, "chunk_line_too_long"},
      {"trailer", chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"), 400, "trailers"},
      {"trailer_length", chunked("0\r\nContent-Length: 5\r\n\r\n"), 400, "trailers"},
      {"one_too_large", chunked("3e9\r\n"), 413, "body_too_large"},
      {"together_too_large", chunked("1f4\r\n" + std::string(500, 'x') + "\r\n1f5\r\n"), 413,
       "body_too_large"},
      {"largest_of_all", chunked("ffffffffffffffff\r\n"), 413, "body_too_large"},
  };
}

std::vector<Case> head_cases() {
  const std::string line = "GET /healthz HTTP/1.1";
  return {
      {"bare_lf", "GET /healthz HTTP/1.1\nHost: a\n\n", 400, "bare_lf"},
      {"lf_lf", line + "\r\nHost: a\r\nX: y\n\r\n\r\n", 400, "bare_lf"},
      {"bare_cr", line + "\r\nHost: a\r\nX: a\rb\r\n\r\n", 400, "bare_cr"},
      {"cr_cr_lf", line + "\r\nHost: a\r\r\n\r\n", 400, "bare_cr"},
      {"folded", head(line, "X: a\r\n b\r\n"), 400, "folded_field"},
      {"folded_with_tab", head(line, "X: a\r\n\tb\r\n"), 400, "folded_field"},
      {"folded_first", line + "\r\n Host: a\r\n\r\n", 400, "folded_field"},
      {"space_before_colon", head(line, "Content-Length : 5\r\n"), 400, "space_before_colon"},
      {"tab_before_colon", head(line, "Transfer-Encoding\t: chunked\r\n"), 400, "space_before_colon"},
      {"nul_in_value", head(line, std::string("X: a\0b\r\n", 8)), 400, "control_character"},
      {"nul_in_name", head(line, std::string("X\0: a\r\n", 7)), 400, "control_character"},
      {"escape_in_value", head(line, "X: \x1b[31m\r\n"), 400, "control_character"},
      {"del_in_value", head(line, "X: \x7f\r\n"), 400, "control_character"},
      {"vertical_tab",
       head(line,
            "Transfer-Encoding: \x0b"
            "chunked\r\n"),
       400, "control_character"},
      {"not_ascii", head(line, "X: \xc3\xa9\r\n"), 400, "not_ascii"},
      {"no_colon", head(line, "X\r\n"), 400, "field_name"},
      {"no_name", head(line, ": x\r\n"), 400, "field_name"},
      {"name_in_brackets", head(line, "X[]: x\r\n"), 400, "field_name"},
      {"no_host", line + "\r\n\r\n", 400, "no_host"},
      {"two_hosts", head(line, "Host: localhost\r\n"), 400, "field_twice"},
      {"empty_host", line + "\r\nHost:\r\n\r\n", 400, "host"},
      {"host_with_user", line + "\r\nHost: u@localhost\r\n\r\n", 400, "host"},
      {"host_with_path", line + "\r\nHost: localhost/x\r\n\r\n", 400, "host"},
      {"host_list", line + "\r\nHost: a, b\r\n\r\n", 400, "host"},
      {"host_port", line + "\r\nHost: a:b\r\n\r\n", 400, "host"},
      {"two_keys", head(line, "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), 400, "field_twice"},
      {"too_many_fields",
       [&] {
         std::string fields;
         for (std::size_t i = 0; i < kHeadFieldsMax; ++i) fields += "X: y\r\n";
         return head(line, fields);
       }(),
       431, "too_many_fields"},
      {"too_large", head(line, "X: " + std::string(kHeadMax, 'x') + "\r\n"), 431, "head_too_large"},
      {"without_end", line + "\r\nX: " + std::string(2 * kHeadMax, 'x'), 431, "head_too_large"},
      {"line_too_long", "GET /" + std::string(kRequestLineMax, 'x') + " HTTP/1.1\r\n\r\n", 414,
       "request_line_too_long"},
  };
}

std::vector<Case> line_cases() {
  return {
      {"http_2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version"},
      {"http_3", head("GET / HTTP/3.0"), 505, "http_version"},
      {"http_1_2", head("GET / HTTP/1.2"), 505, "http_version"},
      {"http_0_9", "GET /\r\n", 400, "request_line"},
      {"small_letters", head("GET / http/1.1"), 400, "request_line"},
      {"two_spaces", head("GET  / HTTP/1.1"), 400, "request_line"},
      {"space_at_end", head("GET / HTTP/1.1 "), 400, "request_line"},
      {"space_at_begin", head(" GET / HTTP/1.1"), 400, "request_line"},
      {"tab", head("GET\t/ HTTP/1.1"), 400, "request_line"},
      {"space_in_target", head("GET /a b HTTP/1.1"), 400, "request_line"},
      {"no_token", head("G@T / HTTP/1.1"), 400, "request_line"},
      {"two_empty_lines", "\r\n\r\n" + head("GET / HTTP/1.1"), 400, "request_line"},
      {"tls", "\x16\x03\x01\x02", 400, "control_character"},
      {"long_method", head(std::string(kMethodMax + 1, 'A') + " / HTTP/1.1"), 501, "unknown_method"},
      {"connect", head("CONNECT localhost:80 HTTP/1.1"), 501, "no_proxy"},
      {"authority", head("GET localhost:80 HTTP/1.1"), 400, "target_form"},
      {"star", head("OPTIONS * HTTP/1.1"), 400, "target_form"},
      {"other_host", head("GET http://elsewhere/healthz HTTP/1.1"), 400, "target_host"},
      {"user_in_target", head("GET http://a@localhost/healthz HTTP/1.1"), 400, "target_host"},
      {"https", head("GET https://localhost/healthz HTTP/1.1"), 400, "target_form"},
      {"file", head("GET file:///etc/passwd HTTP/1.1"), 400, "target_form"},
      {"fragment", head("GET /healthz#x HTTP/1.1"), 400, "target_character"},
      {"backslash", head("GET /a\\b HTTP/1.1"), 400, "target_character"},
      {"nul", head("GET /a%00b HTTP/1.1"), 400, "target_text"},
      {"line_feed", head("GET /a%0Ab HTTP/1.1"), 400, "target_text"},
      {"overlong", head("GET /%c0%ae%c0%ae/x HTTP/1.1"), 400, "target_text"},
      {"overlong_slash", head("GET /%c0%af HTTP/1.1"), 400, "target_text"},
      {"surrogate", head("GET /%ed%a0%80 HTTP/1.1"), 400, "target_text"},
      {"half_an_escape", head("GET /%4 HTTP/1.1"), 400, "percent_encoding"},
      {"no_hex", head("GET /%zz HTTP/1.1"), 400, "percent_encoding"},
      {"encoded_slash", head("GET /a%2fb HTTP/1.1"), 400, "encoded_slash"},
      {"encoded_backslash", head("GET /a%5cb HTTP/1.1"), 400, "encoded_slash"},
      {"dots", head("GET /v1/../healthz HTTP/1.1"), 400, "dot_segment"},
      {"encoded_dots", head("GET /v1/%2e%2E/healthz HTTP/1.1"), 400, "dot_segment"},
      {"dot", head("GET /./healthz HTTP/1.1"), 400, "dot_segment"},
      {"nul_in_query", head("GET /healthz?a=%00 HTTP/1.1"), 400, "target_text"},
  };
}

class RefusalsTest : public testing::Test {
 protected:
  void SetUp() override { service_.start(); }
  void expect_refused(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
      SCOPED_TRACE(each.name);
      RawClient client(service_.port());
      const Reply reply = client.ask(each.bytes);
      EXPECT_EQ(reply.status, each.status);
      EXPECT_EQ(reply.code(), each.code) << reply.body;
      EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
      EXPECT_EQ(reply.field("Connection"), "close");
      // Nothing of what follows is taken for a request.
      client.end_sending();
      EXPECT_TRUE(client.is_ended());
    }
    EXPECT_EQ(service_.echoes, 0);
    EXPECT_EQ(service_.server().counts().refused, cases.size());
    RawClient other(service_.port());
    EXPECT_EQ(other.ask(get("/healthz")).status, 200);
  }
  Service service_;
};

TEST_F(RefusalsTest, FramingThatTwoReadersCouldTakeDifferently) { expect_refused(framing_cases()); }
TEST_F(RefusalsTest, Chunks) { expect_refused(chunk_cases()); }
TEST_F(RefusalsTest, Heads) { expect_refused(head_cases()); }
TEST_F(RefusalsTest, RequestLinesAndTargets) { expect_refused(line_cases()); }

// A request behind a refused one is the classic of smuggling.
TEST_F(RefusalsTest, WhatFollowsARefusedRequestIsNotServed) {
  RawClient client(service_.port());
  (void)client.send(chunked("0\r\n\r\n", "Content-Length: 5\r\n") + post("/echo", "smuggled"));
  const std::string all = client.read_to_end();
  EXPECT_NE(all.find("length_and_chunks"), std::string::npos);
  EXPECT_EQ(all.find("HTTP/1.1 ", 1), std::string::npos) << "one answer";
  EXPECT_EQ(service_.echoes, 0);
}

TEST_F(RefusalsTest, AProblemSaysWhatAndWhatToDo) {
  RawClient client(service_.port());
  const Reply reply = client.ask(head("POST /echo HTTP/1.1", "Content-Length: +5\r\n"));
  EXPECT_EQ(
      reply.body,
      R"({"type":"urn:casemate:problem:content_length","title":"Bad Request","status":400,)"
      R"("code":"content_length","detail":"Content-Length should be one decimal number without a sign"})");
}

}  // namespace
}  // namespace casemate::http_server
