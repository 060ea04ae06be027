#include "http_server/target.h"

#include <gtest/gtest.h>

#include "http_server/limits.h"

namespace casemate::http_server {
namespace {

std::string code_of(const std::string& target, Request& request, const char* host = "localhost") {
  request = {};
  request.method = "GET";
  request.target = target;
  const auto refusal = read_target(host, request);
  return refusal ? refusal->code : "";
}
std::string code_of(const std::string& target, const char* host = "localhost") {
  Request request;
  return code_of(target, request, host);
}

using Segments = std::vector<std::string>;
using Items = std::vector<Field>;

TEST(Target, PathAndQueryAreDecodedOnce) {
  Request request;
  EXPECT_EQ(code_of("/v1/%72uns/a%20b%2520;c=@:~!?x=1&y=a+b%2B%2f/?&z&x=%c3%a9", request), "");
  EXPECT_EQ(request.path, (Segments{"v1", "runs", "a b%20;c=@:~!"}));
  EXPECT_EQ(request.query, (Items{{"x", "1"}, {"y", "a b+//?"}, {"z", ""}, {"x", "\xc3\xa9"}}));
}

TEST(Target, NothingIsRepaired) {
  Request request;
  EXPECT_EQ(code_of("/", request), "");
  EXPECT_EQ(request.path, Segments{""});
  EXPECT_EQ(code_of("//v1//runs/", request), "");
  EXPECT_EQ(request.path, (Segments{"", "v1", "", "runs", ""})) << "which no route has";
  EXPECT_EQ(code_of("/...", request), "");
}

TEST(Target, AbsoluteFormNamesTheHostOfTheField) {
  Request request;
  EXPECT_EQ(code_of("HTTP://LocalHost:80/a?b", request, "localhost:80"), "");
  EXPECT_EQ(request.path, Segments{"a"});
  EXPECT_EQ(code_of("http://localhost/a", ""), "") << "HTTP/1.0 without the field";
  EXPECT_EQ(code_of("http://localhost:81/a", "localhost:80"), "target_host");
  EXPECT_EQ(code_of("http://localhost.evil/a"), "target_host");
  EXPECT_EQ(code_of("http:///a"), "target_host");
  EXPECT_EQ(code_of("http://localhost"), "target_form");
  EXPECT_EQ(code_of("http://localhost?a"), "target_form");
}

TEST(Target, SegmentsAndItemsAtAndPastTheirLimits) {
  std::string path, query = "/?";
  for (std::size_t i = 0; i < kPathSegmentsMax; ++i) path += "/a";
  for (std::size_t i = 0; i < kQueryItemsMax; ++i) query += "a&";
  EXPECT_EQ(code_of(path), "");
  EXPECT_EQ(code_of(path + "/a"), "path_too_deep");
  EXPECT_EQ(code_of(query), "");
  EXPECT_EQ(code_of(query + "a"), "query_too_long");
}

TEST(Target, EveryByteIsTakenOrRefusedByItsClass) {
  const std::string plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?";
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    const bool taken = code_of(std::string("/a") + byte + "a").empty();
    EXPECT_EQ(taken, plain.find(byte) != std::string::npos) << c;
  }
}

}  // namespace
}  // namespace casemate::http_server
