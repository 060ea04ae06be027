// Why a request is not answered as it asks: words of our own, never bytes of the client.
#pragma once

namespace casemate::http_server {

// Both texts live for ever. The detail is one sentence without its full stop: what is wrong, what to do.
struct Refusal {
  int status = 400;
  const char* code = "";  // for programs: "length_and_chunks"; docs/http.md lists them
  const char* detail = "";
};

}  // namespace casemate::http_server
