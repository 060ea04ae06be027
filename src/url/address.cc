#include "url/address.h"

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace casemate::url {
namespace {

struct Range4 {
  std::uint32_t base;
  unsigned bits;
};

constexpr Range4 kForbidden4[] = {
    {0x00000000, 8},   // 0.0.0.0/8: this host
    {0xa9fe0000, 16},  // 169.254.0.0/16: link-local, and the metadata of most clouds
    {0x646464c8, 32},  // 100.100.100.200: metadata
    {0xa83f8110, 32},  // 168.63.129.16: a cloud's own agent
    {0xc0000000, 24},  // 192.0.0.0/24: protocol assignments, and metadata at 192.0.0.192
    {0xe0000000, 4},   // 224.0.0.0/4: multicast
    {0xffffffff, 32},  // broadcast
};

using Bytes6 = std::array<std::uint8_t, 16>;

struct Range6 {
  Bytes6 base;
  unsigned bits;
};

constexpr Range6 kHolds4[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96},  // ::ffff:0:0/96
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96},        // ::ffff:0:0:0/96
    {{0, 0x64, 0xff, 0x9b}, 96},                       // 64:ff9b::/96
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48},                 // 64:ff9b:1::/48
    {{0x20, 0x02}, 16},                                // 2002::/16
    {{0x20, 0x01}, 32},                                // 2001::/32
    {{0}, 96},                                         // ::/96
};

constexpr Range6 kForbidden6[] = {
    {{0xfe, 0x80}, 10},              // link-local
    {{0xfd, 0x00, 0x0e, 0xc2}, 32},  // fd00:ec2::/32: metadata
    {{0xff}, 8},                     // multicast
};

constexpr Bytes6 kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

bool within(std::uint32_t address, const Range4& range) {
  return range.bits == 0 || ((address ^ range.base) >> (32 - range.bits)) == 0;
}

bool within(const Bytes6& address, const Range6& range) {
  for (unsigned bit = 0; bit < range.bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if ((address[bit / 8] & mask) != (range.base[bit / 8] & mask)) return false;
  }
  return true;
}

bool forbidden4(std::uint32_t address) {
  for (const Range4& range : kForbidden4)
    if (within(address, range)) return true;
  return false;
}

bool holds4(const Bytes6& address) {
  if (address == kLoopback6 || address == Bytes6{}) return false;
  for (const Range6& range : kHolds4)
    if (within(address, range)) return true;
  return false;
}

bool forbidden6(const Bytes6& address) {
  if (address == Bytes6{}) return true;  // this host
  if (within(address, kHolds4[0]))
    return forbidden4(std::uint32_t{address[12]} << 24 | std::uint32_t{address[13]} << 16 |
                      std::uint32_t{address[14]} << 8 | address[15]);
  if (holds4(address)) return true;
  for (const Range6& range : kForbidden6)
    if (within(address, range)) return true;
  return false;
}

}  // namespace

bool is_forbidden(const sockaddr& address, socklen_t size) {
  if (address.sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return forbidden4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    Bytes6 bytes{};
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return forbidden6(bytes);
  }
  return true;
}

bool holds_ipv4(const std::string& ipv6) {
  Bytes6 bytes{};
  return ::inet_pton(AF_INET6, ipv6.c_str(), bytes.data()) == 1 && holds4(bytes);
}

}  // namespace casemate::url
