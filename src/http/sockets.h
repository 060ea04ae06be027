// The connections that libcurl has, which does not say itself whether one that it kept is quiet.
#pragma once

#include <curl/curl.h>

#include <map>

namespace casemate::http {

// One thread. Must outlive the connections.
class Sockets {
 public:
  // CURL_SOCKET_BAD when there is none to be had.
  curl_socket_t open(const curl_sockaddr& address);
  int close(curl_socket_t socket);

  // To be asked before each request, of the connection with this end of ours: false when it carried one
  // before and has something to be read, or has ended: that was said before it was asked for, and would be
  // taken for the answer to this request. A new one may have what belongs to TLS.
  bool is_quiet(bool ipv6, int local_port);

 private:
  std::map<curl_socket_t, bool> used_;  // whether it has carried a request
};

}  // namespace casemate::http
