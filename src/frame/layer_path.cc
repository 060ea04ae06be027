#include "frame/layer_path.h"

#include <algorithm>
#include <vector>

namespace casemate::frame {

Result<std::string> path_beneath_layer(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (part == "..") return fail(ErrorCode::kDenied, "its path leads through '..'");
    if (!part.empty() && part != ".") parts.push_back(part);
    at = end + 1;
  }
  std::string below;
  const bool absolute = !path.empty() && path.front() == '/';
  if (!absolute) {
    below = "work";
  } else if (!parts.empty() && (parts.front() == "work" || parts.front() == "tmp")) {
    below = parts.front();  // /work is a link to /vol/work; /tmp is /vol/tmp
    parts.erase(parts.begin());
  } else if (!parts.empty() && parts.front() == "vol") {
    parts.erase(parts.begin());
  } else {
    return fail(ErrorCode::kDenied, "only files below /work, /vol and /tmp are collected");
  }
  for (const std::string& part : parts) below += (below.empty() ? "" : "/") + part;
  if (below.empty()) return fail(ErrorCode::kDenied, "it names no file");
  return below;
}

}  // namespace casemate::frame
