// Addresses that a name must not lead to. Pure.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

namespace casemate::url {

// Whether a resolver's answer must not be spoken to, for any name: link-local addresses and those where
// clouds answer with the credentials of the machine (169.254.0.0/16, fe80::/10, fd00:ec2::/32,
// 100.100.100.200, 168.63.129.16, 192.0.0.0/24), "this host" (0.0.0.0/8, ::), multicast and broadcast; and
// IPv6 addresses that hold an IPv4 one for a translator or a tunnel, whichever it is, but for ::ffff:0:0/96,
// of which the IPv4 one counts. A family that is not IP is refused. The special-purpose registries of IANA
// (RFC 6890) have them all, but for what each cloud took for itself.
bool is_forbidden(const sockaddr& address, socklen_t size);

// Whether the IPv6 address, as inet_ntop(3) spells it, holds an IPv4 one: mapped, compatible (but for :: and
// ::1), translated (RFC 6052, RFC 8215, RFC 7915), 6to4, Teredo.
bool holds_ipv4(const std::string& ipv6);

}  // namespace casemate::url
