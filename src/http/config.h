// What casemate-http is told before any call: one JSON object, the first line of its standard input.
//
//     {"url":"https://…","parallel":16,"answer_max_bytes":17825792,"ca":"-----BEGIN…","headers":{…},
//      "secret_headers":{"Authorization":"…"}}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "url/url.h"

namespace casemate::http {

inline constexpr std::size_t kConfigMax = std::size_t{4} << 20;

struct Config {
  url::Url url;
  std::size_t parallel = 16;         // connections
  Bytes answer_max;                  // of one line to the caller, and of what the server answers
  std::string ca;                    // PEM; empty: the system's
  std::vector<std::string> headers;  // "Name: value", the secret ones too
  // What no answer may repeat: the values of secret headers, and the longer words of each.
  std::vector<std::string> secrets;
};

// Errors: invalid. The message repeats nothing of the line.
Result<Config> read_config(std::string_view line);

}  // namespace casemate::http
