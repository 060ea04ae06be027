#include "http/sockets.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace casemate::http {
namespace {

bool is_at(curl_socket_t socket, bool ipv6, int local_port) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(socket, address, &size) != 0) return false;
  if (storage.ss_family != (ipv6 ? AF_INET6 : AF_INET)) return false;
  const auto port = ipv6 ? reinterpret_cast<const sockaddr_in6*>(address)->sin6_port
                         : reinterpret_cast<const sockaddr_in*>(address)->sin_port;
  return ntohs(port) == local_port;
}

}  // namespace

curl_socket_t Sockets::open(const curl_sockaddr& address) {
  const int socket = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (socket >= 0) used_[socket] = false;
  return socket >= 0 ? socket : CURL_SOCKET_BAD;
}

int Sockets::close(curl_socket_t socket) {
  used_.erase(socket);
  return ::close(socket);
}

bool Sockets::is_quiet(bool ipv6, int local_port) {
  for (auto& [socket, used] : used_) {
    if (!is_at(socket, ipv6, local_port)) continue;
    pollfd ready{socket, POLLIN, 0};
    if (used && ::poll(&ready, 1, 0) != 0) return false;
    used = true;
    return true;
  }
  return false;
}

}  // namespace casemate::http
