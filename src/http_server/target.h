// What a request is for: its target, taken apart and decoded once. Pure.
//
// Nothing is repaired: no "." or ".." is resolved, no double slash made one. A path that two readers could
// take for different things (an encoded slash, a NUL, UTF-8 in a form that it has not) is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http_server/refusal.h"
#include "http_server/request.h"

namespace casemate::http_server {

// Reads request.target into request.path and request.query. `host`: of the field, empty if there is none.
//
// Taken are "/path?query" and, as RFC 9112, section 3.2.2, asks of servers, "http://HOST/path?query" where
// HOST is what the field says. CONNECT, "*" and other forms are refused. In a query "+" is a blank.
std::optional<Refusal> read_target(std::string_view host, Request& request);

}  // namespace casemate::http_server
