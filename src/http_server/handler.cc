#include "http_server/handler.h"

#include "http_server/socket.h"

namespace casemate::http_server {

bool Client::gone() const { return peer_is_gone(socket_); }

}  // namespace casemate::http_server
