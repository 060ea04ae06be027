#include "url/url.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

#include "url/address.h"

namespace casemate::url {
namespace {

TEST(Url, IsReadWhole) {
  const auto one = parse_url("https://Billing.internal/rpc?a=b");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->host, "billing.internal");
  EXPECT_EQ(one->port, 443);
  EXPECT_TRUE(one->tls && !one->is_literal() && !one->is_loopback());
  const auto two = parse_url("http://127.0.0.1:8080");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->port, 8080);
  EXPECT_TRUE(!two->tls && two->is_literal() && two->is_loopback());
  const auto three = parse_url("https://[2001:db8::1]:444/");
  ASSERT_TRUE(three);
  EXPECT_EQ(three->host, "2001:db8::1");
  EXPECT_TRUE(three->is_literal() && !three->is_loopback());
  EXPECT_TRUE(parse_url("http://[::1]/")->is_loopback());
  EXPECT_TRUE(parse_url("http://localhost/")->is_loopback());
  EXPECT_TRUE(parse_url("http://169.254.169.254/")) << "named literally, it is meant";
}

TEST(Url, WhatReadersDifferAboutIsRefused) {
  for (const char* text : {"",
                           "billing",
                           "ftp://a/",
                           "file:///etc/passwd",
                           "HTTPS://a/",
                           "https:/a",
                           "https://",
                           "https:///x",
                           "https://a b/",
                           "https://a/\n",
                           "https://a/#x",
                           "https://u@a/",
                           "https://u:p@a/",
                           "https://a\\@b/",
                           "https://a%2eb/",
                           "https://a./",
                           "https://.a/",
                           "https://a..b/",
                           "https://-a/",
                           "https://0x7f.1/",
                           "https://2130706433/",
                           "https://017700000001/",
                           "https://127.1/",
                           "https://127.0.0.01/",
                           "https://1.2.3.4.5/",
                           "https://0x7f000001/",
                           "https://a.1/",
                           "https://a:0/",
                           "https://a:65536/",
                           "https://a:/",
                           "https://a:08/",
                           "https://a:8x/",
                           "https://a:80:80/",
                           "https://[::1/",
                           "https://[::1]x/",
                           "https://[fe80::1%25eth0]/",
                           "https://[0:0:0:0:0:0:0:1]/",
                           "https://[::ffff:10.0.0.1]/",
                           "https://[64:ff9b::a00:1]/",
                           "https://[2002:a00:1::]/",
                           "https://[::ffff:0:10.0.0.1]/",
                           "https://\xc3\xa4.example/"})
    EXPECT_FALSE(parse_url(text)) << text;
  EXPECT_FALSE(parse_url("https://a/" + std::string(3000, 'x')));
  EXPECT_EQ(parse_url("https://u:hunter2@a/").error().message.find("hunter2"), std::string::npos);
}

TEST(Url, HeadersCannotFrameTheRequest) {
  for (const char* name : {"X-Team", "Authorization", "x_1", "Cookie"})
    EXPECT_TRUE(check_header_name(name)) << name;
  for (const char* name :
       {"", "a b", "a:", "a\n", "Host", "content-LENGTH", "Transfer-Encoding", "Idempotency-Key",
        "Connection", "Expect", "Proxy-Authorization", "Content-Type", "\xc3\xa4"})
    EXPECT_FALSE(check_header_name(name)) << name;
  for (const char* value : {"a", "Bearer x y", "\"q\""}) EXPECT_TRUE(check_header_value(value)) << value;
  for (const char* value : {"", " a", "a ", "a\r\nX: y", "a\n", "a\x7f", "\xc3\xa4"})
    EXPECT_FALSE(check_header_value(value)) << value;
  EXPECT_FALSE(check_header_value(std::string(9000, 'x')));
}

bool forbidden(const char* text) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  sockaddr_storage any{};
  if (::inet_pton(AF_INET, text, &in.sin_addr) == 1)
    std::memcpy(&any, &in, sizeof in);
  else if (::inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
    std::memcpy(&any, &in6, sizeof in6);
  else
    ADD_FAILURE() << text;
  return is_forbidden(*reinterpret_cast<const sockaddr*>(&any), sizeof any);
}

TEST(Address, ANameMustNotLeadToMetadataOrAround) {
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "169.254.0.1",
                           "169.254.169.254",
                           "169.254.255.255",
                           "100.100.100.200",
                           "168.63.129.16",
                           "192.0.0.192",
                           "224.0.0.1",
                           "239.1.1.1",
                           "255.255.255.255",
                           "::",
                           "fe80::1",
                           "febf::1",
                           "fd00:ec2::254",
                           "ff02::1",
                           "::ffff:169.254.169.254",
                           "::ffff:0:10.0.0.1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "2002:a9fe:a9fe::",
                           "2001:0:1::1",
                           "::a9fe:a9fe",
                           "::10.0.0.1"})
    EXPECT_TRUE(forbidden(text)) << text;
  for (const char* text :
       {"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "8.8.8.8", "169.253.1.1", "169.255.0.1",
        "100.100.100.201", "::1", "::ffff:10.0.0.1", "fd00:ec3::1", "2001:db8::1", "2001:1::1", "fec0::1"})
    EXPECT_FALSE(forbidden(text)) << text;
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_TRUE(is_forbidden(other, sizeof other));
}

}  // namespace
}  // namespace casemate::url
