#include "http_server/head.h"

#include <gtest/gtest.h>

#include <string>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

using State = HeadScanner::State;

// All at once.
State scan(const std::string& bytes, HeadScanner& scanner) { return scanner.scan(bytes); }

std::string with_fields(std::size_t count) {
  std::string head = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i < count; ++i) head += "X: y\r\n";
  return head + "\r\n";
}

TEST(HeadScanner, FindsTheEndInWhateverPieces) {
  const std::string head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n";
  const std::string bytes = head + "{}GET / HTTP/1.1\r\n";
  for (std::size_t first = 0; first < head.size(); ++first) {
    HeadScanner scanner;
    ASSERT_EQ(scanner.scan(bytes.substr(0, first)), State::kMore) << first;
    ASSERT_EQ(scanner.scan(bytes), State::kWhole) << first;
    EXPECT_EQ(scanner.begin(), 0U);
    EXPECT_EQ(scanner.end(), head.size());
  }
}

TEST(HeadScanner, PassesOverOneEmptyLine) {
  HeadScanner scanner;
  const std::string bytes = "\r\nGET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(scan(bytes, scanner), State::kWhole);
  EXPECT_EQ(scanner.begin(), 2U);
  EXPECT_EQ(scanner.end(), bytes.size());
}

TEST(HeadScanner, RefusesBeforeTheHeadIsWhole) {
  HeadScanner scanner;
  EXPECT_EQ(scan("PRI * HTTP/2.0\r\n", scanner), State::kRefused);
  EXPECT_STREQ(scanner.refusal().code, "http_version");
  EXPECT_EQ(scan("PRI * HTTP/2.0\r\n\r\n", scanner), State::kRefused) << "nothing that follows mends it";
}

TEST(HeadScanner, RequestLineAtAndPastItsLimit) {
  const std::string rest = "GET / HTTP/1.1";
  for (const std::size_t over : {0U, 1U}) {
    const std::string line =
        "GET /" + std::string(kRequestLineMax - rest.size() + over, 'x') + " HTTP/1.1\r\n\r\n";
    HeadScanner scanner;
    EXPECT_EQ(scan(line, scanner), over == 0 ? State::kWhole : State::kRefused);
    if (over == 1) {
      EXPECT_STREQ(scanner.refusal().code, "request_line_too_long");
    }
  }
}

TEST(HeadScanner, HeadAtAndPastItsLimit) {
  const std::string begin = "GET / HTTP/1.1\r\nX: ", end = "\r\n\r\n";
  for (const std::size_t over : {0U, 1U}) {
    HeadScanner scanner;
    const std::string bytes = begin + std::string(kHeadMax - begin.size() - end.size() + over, 'x') + end;
    EXPECT_EQ(scan(bytes, scanner), over == 0 ? State::kWhole : State::kRefused);
    if (over == 1) {
      EXPECT_STREQ(scanner.refusal().code, "head_too_large");
    }
  }
}

TEST(HeadScanner, FieldsAtAndPastTheirLimit) {
  HeadScanner at, past;
  EXPECT_EQ(scan(with_fields(kHeadFieldsMax), at), State::kWhole);
  EXPECT_EQ(scan(with_fields(kHeadFieldsMax + 1), past), State::kRefused);
  EXPECT_STREQ(past.refusal().code, "too_many_fields");
}

TEST(CheckHead, SaysHowTheBodyIsFramed) {
  HeadFacts facts;
  const std::string begin = "POST / HTTP/1.1\r\nhOST: [::1]:80\r\n";
  const std::string bare = begin + "\r\n";  // which facts.host is a part of
  EXPECT_FALSE(check_head(bare, facts));
  EXPECT_FALSE(facts.has_body());
  EXPECT_EQ(facts.host, "[::1]:80");
  EXPECT_FALSE(check_head(begin + "content-length:\t7 \r\n\r\n", facts));
  EXPECT_EQ(facts.content_length, 7U);
  EXPECT_FALSE(check_head(begin + "Content-Length: 9223372036854775807\r\n\r\n", facts));
  EXPECT_EQ(facts.content_length, 9223372036854775807U);
  EXPECT_FALSE(check_head(begin + "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n", facts));
  EXPECT_TRUE(facts.chunked && facts.expects_continue && facts.has_body());
  EXPECT_FALSE(facts.content_length);
}

TEST(CheckHead, Http10NeedsNoHostAndExpectsNothing) {
  HeadFacts facts;
  EXPECT_FALSE(check_head("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", facts));
  EXPECT_EQ(facts.minor_version, 0);
  EXPECT_FALSE(facts.expects_continue);
}

TEST(CheckHead, WhatIsAHost) {
  for (const char* host :
       {"localhost", "127.0.0.1:8080", "[::1]", "[::ffff:1.2.3.4]:1", "a-b_c.example:65535"})
    EXPECT_TRUE(is_host(host)) << host;
  for (const char* host :
       {"", ":80", "a:", "a:123456", "a:-1", "[]", "[::1", "[::1]x", "a b", "a/b", "a@b", "a,b"})
    EXPECT_FALSE(is_host(host)) << host;
  EXPECT_TRUE(is_host(std::string(kHostMax, 'a')));
  EXPECT_FALSE(is_host(std::string(kHostMax + 1, 'a')));
}

}  // namespace
}  // namespace casemate::http_server
